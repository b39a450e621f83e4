"""Random inputs of `mnc check`: integers that are labels and indices must lie inside of what they look up."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mnc
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.model_values import evaluate_model
from mnc.options import Options
from mnc.reference import random_inputs

from .running import Shell

ROWS = 3


def look_up(path: Path) -> Path:
    """Rows of a table of three, by indices that are computed from an input."""
    nodes = [helper.make_node("Mul", ["k", "k"], ["square"]), helper.make_node("Gather", ["x", "square"], ["y"])]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, 2]),
        helper.make_tensor_value_info("k", TensorProto.INT64, [8]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 2])]
    graph = helper.make_graph(nodes, "look_up", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_indices_are_drawn_inside_of_the_tensor(shell: Shell, tmp_path: Path) -> None:
    path = look_up(tmp_path / "look_up.onnx")
    assert shell("mnc", "check", str(path)).code == 0
    values = evaluate_model(str(path), Options()).values
    assert 0 < values["square"].max() < ROWS


def test_given_indices_that_lie_outside_are_told(shell: Shell, tmp_path: Path) -> None:
    path, indices = look_up(tmp_path / "look_up.onnx"), tmp_path / "k.npy"
    np.save(indices, np.full(8, ROWS))
    done = shell("mnc", "check", str(path), "--input", f"k={indices}", "--target", "cpp")
    assert done.code == 2 and "index 9 is outside 0 to 2" in done.err
    done = shell("mnc", "check", str(path), "--input", f"k={indices}")
    assert done.code == 2 and "the ONNX reference cannot evaluate the model: IndexError" in done.err


def test_bfloat16_is_drawn_and_read_as_numbers(shell: Shell, tmp_path: Path) -> None:
    """numpy calls this type no float."""
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 18]> g (bfloat16[4,9] x) => (bfloat16[4,9] y) { y = Neg (x) }'
    )
    onnx.save(model, path := tmp_path / "m.onnx")
    done = shell("mnc", "check", str(path))
    assert done.code == 0, done.err
    (x,) = random_inputs(model, {}, 0).values()
    assert x.dtype == ml_dtypes.bfloat16 and x.min() < 0 and np.any(x != np.round(x.astype(np.float32)))
    assert np.array_equal(mnc.compile(model).run({"x": x})["y"], -x.astype(np.float32))


def test_a_value_under_another_name_is_told(shell: Shell, tmp_path: Path) -> None:
    path, rows = look_up(tmp_path / "look_up.onnx"), tmp_path / "rows.npy"
    assert shell("mnc", "compile", str(path), "-o", "out").code == 0
    np.save(rows, np.ones((ROWS, 2), np.float32))
    done = shell("mnc", "run", "out", "--input", f"rows={rows}")
    assert done.code == 2 and "no value for input 'x', and 'rows' is no input" in done.err and "--input x=" in done.err


@pytest.mark.parametrize("command", ["check", "bisect", "unit-tests"])
def test_seeds_are_numbers_from_0_on(shell: Shell, tmp_path: Path, command: str) -> None:
    done = shell("mnc", command, str(look_up(tmp_path / "look_up.onnx")), "--seed", "-1")
    assert (done.code, "-1 is not in the range" in done.err) == (2, True)


def test_a_tensor_without_elements_has_no_least_one(shell: Shell, tmp_path: Path) -> None:
    text = '<ir_version: 9, opset_import: ["" : 18]> g (float[0,3] x) => (float[0,3] y) { y = Relu (x) }'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    done = shell("mnc", "check", path)
    assert done.code == 0, done.err
    assert [cell.strip() for cell in done.out.splitlines()[3].split("│")[1:-1]] == [
        "y", "0x3", "0", "0", "-", "-", "-", "pass",
    ]  # fmt: skip


def test_only_what_a_root_is_taken_of_is_positive() -> None:
    """A step of Adam takes the root of squares that are kept; where all numbers are positive its loss may overflow."""
    text = """<ir_version: 9, opset_import: ["" : 18]>
    g (float[4,400] x, float[400,4] w, float[4] v) => (float[4,4] y) {
      products = MatMul (x, w)
      opposite = Neg (products)
      some = Mul (small, opposite)
      squares = Mul (some, products)
      row = ReduceSum <keepdims = 0> (squares, axis)
      sums = Add (v, row)
      roots = Sqrt (sums)
      powers = Exp (products)
      more = Add (powers, roots)
      y = Div (powers, more)
    }"""
    model = onnx.parser.parse_model(text)
    constants = {"axis": np.array([0]), "small": np.float32(-1e-6)}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    values = random_inputs(model, {}, 0)
    assert values["v"].min() >= 0 and values["x"].min() < 0 and values["w"].min() < 0


def test_integers_that_divide_are_not_zero() -> None:
    text = """<ir_version: 9, opset_import: ["" : 18]>
    g (int32[20,20] x, int32[400] n, int32[20,20] m) => (int32[20,20] q, int32[20,20] r) {
      moved = Reshape (n, shape)
      q = Div (x, moved)
      squares = Mul (m, m)
      sums = Add (squares, moved)
      r = Mod (x, sums)
    }"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([20, 20]), "shape"))
    values = random_inputs(model, {}, 0)
    assert values["n"].min() == values["m"].min() == 1 and values["x"].min() == 0


DEFINED = {
    "centred RMSprop": (
        "(float[8] w, float[8] g, float[8] sq, float[8] av) => (float[8] y) <float a = {0.99}, float b = {0.01}> { "
        "s = Mul (sq, a) gg = Mul (g, g) t = Mul (gg, b) n = Add (s, t) p = Mul (av, a) q = Mul (g, b) m = Add (p, q) "
        "mm = Mul (m, m) d = Sub (n, mm) r = Sqrt (d) u = Div (g, r) y = Sub (w, u) }"
    ),
    "probabilities": (
        "(float[8] p, float[8] t) => (float y) <float one = {1.0}> { l = Log (p) a = Mul (t, l) q = Sub (one, p) "
        "m = Log (q) n = Sub (one, t) b = Mul (n, m) s = Add (a, b) y = ReduceMean <keepdims = 0> (s) }"
    ),
    "a mask of integers": (
        "(float[4,8] x, int64[1,8] mask) => (float[4,8] y) <float one = {1.0}, float low = {-3.4e38}> { "
        "f = Cast <to = 1> (mask) q = Sub (one, f) m = Mul (q, low) s = Add (x, m) y = Softmax (s) }"
    ),
    "arcs": "(float[8] x) => (float[8] y) { c = Acos (x) s = Asin (x) y = Add (c, s) }",
}


@pytest.mark.parametrize("what", DEFINED)
@pytest.mark.parametrize("seed", range(3))
def test_numbers_for_which_a_model_is_defined(what: str, seed: int) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {DEFINED[what]}')
    values = random_inputs(model, {}, seed)
    (result,) = evaluator(model).run(None, values)
    assert not np.isnan(result).any()
    assert any(np.unique(value).size > 1 for value in values.values())
    assert "mask" not in values or set(np.unique(values["mask"])) <= {0, 1}


def test_given_values_stay() -> None:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {DEFINED["probabilities"]}')
    given = {"p": np.linspace(0.1, 0.9, 8, dtype=np.float32)}
    values = random_inputs(model, {}, 0, given)
    assert np.array_equal(values["p"], given["p"])


@pytest.mark.parametrize("where", ["input", "weight", "nowhere"])
def test_subnormal_numbers_are_told(shell: Shell, where: str) -> None:
    """The machine reads them as zero."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[3] x) => (bool[3] y) <float[3] w = {0, 0, 0}> '
        "{ y = Greater (x, w) }"
    )
    tiny, plain = np.array([1e-40, 2, -3e-39], np.float32), np.array([1, 2, 3], np.float32)
    weight = tiny if where == "weight" else plain * 0
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, "w"))
    onnx.save(model, shell.directory / "m.onnx")
    np.save(shell.directory / "x.npy", tiny if where == "input" else plain)
    done = shell("mnc", "check", "m.onnx", "--input", "x.npy")
    said = "elements of '{}' are subnormal: zero for the machine, not for the reference"
    assert (said.format("x") in done.out) == (where == "input")
    assert (said.format("w") in done.out) == (where == "weight")
    assert done.code == (1 if where == "input" else 0)
