"""Forms of operators that the ONNX reference evaluator refuses, and what is said of those that it still does."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.reference_sequences import plain
from mnc.reference import evaluate

FLOAT, X = TensorProto.FLOAT, np.arange(6, dtype=np.float32).reshape(3, 2)


def value(name: str, kind: int, shape: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes: list[onnx.NodeProto], inputs: dict[str, np.ndarray], opset: int = 17) -> onnx.ModelProto:
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    declared = [value(name, kinds[name], array.shape) for name, array in inputs.items()]
    graph = helper.make_graph(nodes, "g", declared, [onnx.ValueInfoProto(name=name) for name in nodes[-1].output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run(made: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[Any]:
    results: Any = evaluator(made).run(None, inputs)
    return list(results)


@pytest.mark.parametrize("into", [0, 1])
@pytest.mark.parametrize("out", [0, 1])
@pytest.mark.parametrize("axes", [(0, 0), (1, 1), (-1, -1)])
def test_scan_in_every_direction(into: int, out: int, axes: tuple[int, int]) -> None:
    """A running sum of rows, to which a value from outside is added."""
    nodes = [
        helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Add", ["t", "k"], ["next"]),
        helper.make_node("Identity", ["next"], ["row"]),
    ]  # fmt: skip
    body = helper.make_graph(
        nodes, "body", [value("s", FLOAT, [2]), value("e", FLOAT, [2])],
        [value("next", FLOAT, [2]), value("row", FLOAT, [2])],
    )  # fmt: skip
    scan = helper.make_node(
        "Scan", ["i", "x"], ["last", "y"], body=body, num_scan_inputs=1, scan_input_directions=[into],
        scan_output_directions=[out], scan_input_axes=[axes[0]], scan_output_axes=[axes[1]],
    )  # fmt: skip
    first, more = np.array([[10, 20], [1, 2]], np.float32)
    inputs = {"i": first, "x": X if axes[0] == 0 else X.T.copy(), "k": more}
    last, found = run(model([scan], inputs), inputs)
    want = first + np.cumsum((X[::-1] if into else X) + more, axis=0)
    np.testing.assert_array_equal(last, want[-1])
    rows = want[::-1] if out else want
    np.testing.assert_array_equal(found, rows if axes[1] == 0 else rows.T)


ZEROS = (3, 4), ([1, 2], 4), ([1, 2], [1, 2, 3, 4]), ([[1], [2]], None), (None, [4, 3, 2, 1])


@pytest.mark.parametrize("zeros", ZEROS)
def test_products_of_integers_with_zero_points(zeros: tuple[Any, Any]) -> None:
    inputs = {"a": np.arange(6, dtype=np.uint8).reshape(2, 3), "b": np.arange(12, dtype=np.uint8).reshape(3, 4)}
    given = {name: np.array(zero, np.uint8) for name, zero in zip(("p", "q"), zeros, strict=True) if zero is not None}
    names = ["a", "b", "p" if "p" in given else "", "q" if "q" in given else ""]
    inputs |= given
    (found,) = run(model([helper.make_node("MatMulInteger", names, ["y"])], inputs), inputs)
    rows, columns = (np.array(0 if zero is None else zero, np.int32) for zero in zeros)
    a = inputs["a"].astype(np.int32) - (rows.reshape(-1, 1) if rows.ndim else rows)
    np.testing.assert_array_equal(found, a @ (inputs["b"].astype(np.int32) - columns))


@pytest.mark.parametrize("constant", [False, True])
def test_sparse_tensors(constant: bool) -> None:
    numbers = helper.make_tensor("w", FLOAT, [2], [5.0, 7.0])
    sparse = helper.make_sparse_tensor(numbers, helper.make_tensor("at", TensorProto.INT64, [2], [1, 4]), [3, 2])
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": X})
    if constant:
        made.graph.node.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    else:
        made.graph.sparse_initializer.append(sparse)
    (found,) = run(made, {"x": X})
    np.testing.assert_array_equal(found, X + np.array([[0, 5], [0, 0], [7, 0]]))


@pytest.mark.parametrize(("mode", "row"), [("nearest", [0, 0, 1, 1]), ("linear", [0, 0.5, 1, 1])])
def test_the_first_resize_has_scales_only(mode: str, row: list[float]) -> None:
    inputs = {"x": X.reshape(1, 1, 3, 2), "s": np.array([1, 1, 1, 2], np.float32)}
    (found,) = run(model([helper.make_node("Resize", ["x", "s"], ["y"], mode=mode)], inputs, 10), inputs)
    np.testing.assert_allclose(found[0, 0], 2 * np.arange(3).reshape(3, 1) + np.array(row))


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("flags", [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}])
def test_running_sums_along_an_axis_that_is_a_vector(flags: dict[str, Any], shape: tuple[int, ...]) -> None:
    """As PyTorch exports the diagonal of a matrix."""
    inputs = {"x": X, "a": np.array(0, np.int64).reshape(shape)}
    (found,) = run(model([helper.make_node("CumSum", ["x", "a"], ["y"], **flags)], inputs), inputs)
    ahead = X[::-1] if "reverse" in flags else X
    sums = np.cumsum(ahead, axis=0) - (ahead if "exclusive" in flags else 0)
    np.testing.assert_array_equal(found, sums[::-1] if "reverse" in flags else sums)


@pytest.mark.parametrize("by", ["sizes", "scales"])
def test_resize_with_operands_that_are_empty(by: str) -> None:
    inputs = {"x": X, "r": np.zeros(0, np.float32), "s": np.zeros(0, np.float32), "n": np.array([3, 4], np.int64)}
    if by == "scales":
        inputs |= {"s": np.array([1, 2], np.float32), "n": np.zeros(0, np.int64)}
    (found,) = run(model([helper.make_node("Resize", list(inputs), ["y"])], inputs), inputs)
    np.testing.assert_array_equal(found, np.repeat(X, 2, axis=1))


def test_resize_with_axes_counted_from_the_end() -> None:
    inputs = {"x": X, "n": np.array([4], np.int64)}
    (found,) = run(model([helper.make_node("Resize", ["x", "", "", "n"], ["y"], axes=[-1])], inputs, 18), inputs)
    np.testing.assert_array_equal(found, np.repeat(X, 2, axis=1))


def test_one_hot_of_booleans() -> None:
    inputs = {"i": np.array([1, -1, 9]), "d": np.array([3]), "v": np.array([True, False])}
    (found,) = run(model([helper.make_node("OneHot", ["i", "d", "v"], ["y"])], inputs), inputs)
    np.testing.assert_array_equal(found, [[True, False, True], [True, True, False], [True] * 3])


@pytest.mark.parametrize("ignored", [-1, 0, -100])
def test_the_mean_of_losses_leaves_ignored_ones_out(ignored: int) -> None:
    inputs = {"x": X, "t": np.array([1, ignored, 1])}
    node = helper.make_node("NegativeLogLikelihoodLoss", ["x", "t"], ["y"], ignore_index=ignored)
    (found,) = run(model([node], inputs), inputs)
    assert found == -(X[0, 1] + X[2, 1]) / 2


def test_faults_of_the_reference_are_not_those_of_the_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {"x": X, "i": np.array([7], np.int64)}
    outside = model([helper.make_node("Gather", ["x", "i"], ["y"])], inputs)
    unknown = model([helper.make_node("Unheard", ["x"], ["y"])], {"x": X})
    hints = []
    for made, there in ((outside, False), (unknown, False), (unknown, True)):
        monkeypatch.setattr("mnc.onnx_runtime.is_installed", lambda there=there: there)
        with pytest.raises(CompileError) as raised:
            evaluate(made, ["y"], {entry.name: inputs[entry.name] for entry in made.graph.input})
        hints.append(raised.value.hint)
    assert "give values with --input" in hints[0]
    assert "pip install onnxruntime" in hints[1] and "neither ONNX Runtime nor the evaluator" in hints[2]


def sequence_results(text: str, inputs: dict[str, Any]) -> list[Any]:
    return run(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}'), inputs)


def test_optional_values() -> None:
    text = """(float[3,2] x) => (optional(float[3,2]) o, float[3,2] y, bool h, optional(float[2]) e, bool n) {
        o = Optional (x)  y = OptionalGetElement (o)  h = OptionalHasElement (o)
        a = Optional <type = float[2]> ()  e = Identity (a)  n = OptionalHasElement (e) }"""
    given, got, there, absent, also = sequence_results(text, {"x": X})
    assert np.array_equal(given, X) and np.array_equal(got, X) and there and not also
    assert plain(absent) is None and evaluate(onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float x) => (optional(float[2]) e) '
        "{ e = Optional <type = float[2]> () }"), ["e"], {"x": np.zeros((), np.float32)}) == {"e": None}  # fmt: skip


def test_what_is_not_there_cannot_be_read() -> None:
    text = "(float x) => (float[2] y) { a = Optional <type = float[2]> ()  y = OptionalGetElement (a) }"
    with pytest.raises(ValueError, match="not there"):
        sequence_results(text, {"x": np.float32(0)})


@pytest.mark.parametrize("count", [0, 1, 3])
def test_maps_of_sequences_and_tensors(count: int) -> None:
    s, t = ([np.full(i + 1, offset + i, np.float32) for i in range(count)] for offset in (1, 10))
    text = """(seq(float[N]) s, float[1] x, seq(float[N]) t) => (seq(float[N]) y, seq(float[N]) z) {
        y, z = SequenceMap (s, x, t) <body = b (float[N] a, float[1] c, float[N] d) => (float[N] o, float[N] p)
            { o = Mul (a, c)  p = Add (a, d) }> }"""
    y, z = sequence_results(text, {"s": s, "x": np.array([2], np.float32), "t": t})
    assert len(y) == len(z) == count
    for i in range(count):
        assert np.array_equal(y[i], s[i] * 2) and np.array_equal(z[i], s[i] + t[i])
