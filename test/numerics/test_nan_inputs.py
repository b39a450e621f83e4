"""NaN in inputs: what only moves it or asks for it keeps it, all else is refused before the run."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import mnc
from mnc.build_directory import load, save
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator


def _model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')


def _holed(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    x = rng.standard_normal(shape).astype(np.float32)
    x[rng.random(shape) < 0.3] = np.nan
    return x


KEPT = [
    "m = IsNaN (x) f = Constant <value = float {2.5}> () z = Where (m, f, x) y = Exp (z)",
    "m = IsNaN (x) n = Not (m) f = Constant <value = float {2.5}> () z = Where (n, x, f) y = Sigmoid (z)",
    "y = Transpose (x)",
    "a = Neg (x) y = Transpose (a)",
    "d = Cast <to = 11> (x) t = Transpose (d) e = Cast <to = 1> (t) y = Abs (e)",
    "d = Cast <to = 10> (x) y = Cast <to = 1> (d)",
    "t = Transpose (x) d = Cast <to = 17> (t) y = Cast <to = 1> (d)",
    "m = IsNaN (x) s = Exp (x) f = Constant <value = float {2.5}> () y = Where (m, f, s)",
    "m = IsNaN (x) s = Exp (x) t = Add (s, x) y = Where (m, x, t)",
    "a = Abs (x) s = Sqrt (a) m = IsNaN (x) n = Not (m) f = Constant <value = float {2.5}> () y = Where (n, s, f)",
    "p = Constant <value = int64[4] {1, 0, 2, 3}> () y = Pad (x, p)",
    "p = Constant <value = int64[4] {0, 2, 0, 1}> () z = Pad <mode = \"edge\"> (x, p) y = Transpose (z)",
    "i = IsInf (x) z = Cast <to = 1> (i) y = Add (z, z)",
    "c = Concat <axis = 1> (x, x) k = Constant <value = int64[1] {3}> () l = Constant <value = int64[1] {20}> () "
    "a = Constant <value = int64[1] {1}> () y = Slice (c, k, l, a)",
]


@pytest.mark.parametrize("body", KEPT)
def test_nan_that_is_moved_or_asked_for(body: str) -> None:
    model = _model(f"g (float[9,14] x) => (float[?,?] y) {{ {body} }}")
    x = _holed(9, 14)
    x[0, :3] = np.inf, -np.inf, 0
    wanted = np.asarray(ReferenceEvaluator(model).run(None, {"x": x})[0])
    y = mnc.compile(model).run({"x": x})["y"]
    np.testing.assert_array_equal(np.isnan(y), np.isnan(wanted))
    np.testing.assert_allclose(y, wanted, rtol=1e-5)


COMPUTED = [
    "y = Exp (x)",
    "y = Relu (x)",
    "m = IsNaN (x) f = Constant <value = float {2.5}> () z = Where (m, x, f) y = Exp (z)",
    "t = Transpose (x) y = Add (t, t)",
    "d = Cast <to = 10> (x) s = Exp (d) y = Cast <to = 1> (s)",
    "m = IsNaN (x) s = Exp (x) t = Transpose (s) u = Transpose (t) y = Where (m, x, u)",
    "m = IsNaN (x) s = Exp (x) f = Constant <value = float {2.5}> () y = Where (m, s, f)",
    "m = IsNaN (x) s = Exp (x) z = Where (m, x, s) y = Add (z, z)",
    "s = Exp (x) m = IsNaN (s) f = Constant <value = float {2.5}> () y = Where (m, f, s)",
    "m = IsNaN (x) f = Constant <value = float {2.5}> () z = Where (m, f, x) s = Exp (x) y = Add (s, z)",
    "e = Equal (x, x) y = Cast <to = 1> (e)",
]


@pytest.mark.parametrize("body", COMPUTED)
def test_nan_that_is_computed_with(body: str) -> None:
    program = mnc.compile(_model(f"g (float[4,6] x) => (float[?,?] y) {{ {body} }}"))
    x = np.ones((4, 6), np.float32)
    program.run({"x": x})
    x[2, 3] = np.nan
    with pytest.raises(CompileError, match="one element of input 'x' is NaN") as caught:
        program.run({"x": x})
    assert "nan_to_num" in (caught.value.hint or "")


def _with_constant(body: str) -> onnx.ModelProto:
    return _model(f"g (float[4,6] x, bool[4,6] c) => (float[4,6] y) <float n = {{0.0}}> {{ {body} }}")


MOVED_CONSTANTS = [
    "y = Where (c, n, x)",
    "p = Constant <value = int64[4] {0, 2, 0, -2}> () y = Pad (x, p, n)",
    "e = Exp (n) y = Where (c, x, e)",
]


@pytest.mark.parametrize("body", MOVED_CONSTANTS)
def test_a_constant_that_is_moved(body: str) -> None:
    model = _with_constant(body)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.float32(np.nan), "n"))
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    inputs = {"x": x, "c": x % 5 > 2}
    wanted = evaluator(model).run(None, inputs)[0]
    np.testing.assert_array_equal(mnc.compile(model).run(inputs)["y"], wanted)


COMPUTED_CONSTANTS = [
    "a = Add (x, n) y = Where (c, a, x)",
    "z = Where (c, n, x) y = Exp (z)",
    "p = Constant <value = int64[4] {0, 2, 0, -2}> () z = Pad (x, p, n) y = Exp (z)",
]


@pytest.mark.parametrize("body", COMPUTED_CONSTANTS)
def test_a_constant_that_is_computed_with(body: str) -> None:
    """The machine would give an infinity."""
    model = _with_constant(body)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.float32(np.nan), "n"))
    with pytest.raises(CompileError, match="computes with NaN of a constant"):
        mnc.compile(model)


def test_each_input_for_itself(tmp_path: Path) -> None:
    """Also of a program that was saved and read again."""
    text = """g (float[6] a, float[6] b) => (float[6] y) {
        m = IsNaN (a) z = Where (m, b, a) y = Mul (z, b) }"""
    program = mnc.compile(_model(text))
    save(program, tmp_path / "built")
    a, b = _holed(6), np.arange(6, dtype=np.float32)
    a[0] = np.nan
    for one in (program, load(tmp_path / "built")):
        np.testing.assert_allclose(one.run({"a": a, "b": b})["y"], np.where(np.isnan(a), b, a) * b, rtol=1e-6)
        with pytest.raises(CompileError, match="'b'"):
            one.run({"a": a, "b": a})


@pytest.mark.parametrize("seed", ["a", -1, 1.5, True, None])
def test_a_seed_that_is_none(seed: object) -> None:
    program = mnc.compile(_model("g (float[4,6] x) => (float[4,6] y) { y = Relu (x) }"))
    with pytest.raises(CompileError, match="the seed is"):
        program.random_inputs(seed=seed)  # pyright: ignore[reportArgumentType]
