"""Operators that the ONNX reference evaluator gets wrong, against their definitions and against ONNX Runtime."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from mnc.lowering.onnx_to_graph.evaluator import evaluator

RNG = np.random.default_rng(5)


def single_node(node: onnx.NodeProto, opset: int, inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    types = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in inputs.items()}
    values = [helper.make_tensor_value_info(name, types[name], value.shape) for name, value in inputs.items()]
    result = onnx.ValueInfoProto(name=node.output[0])
    result.type.tensor_type.elem_type = TensorProto.FLOAT
    graph = helper.make_graph([node], "single", values, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def random(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def batch_normalization() -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    feeds = random(x=(2, 3, 4, 5), s=(3,), b=(3,), m=(3,), v=(3,))
    feeds["v"] = np.abs(feeds["v"]) + np.float32(0.5)
    s, b, m, v = (feeds[name].reshape(3, 1, 1) for name in "sbmv")
    node = helper.make_node("BatchNormalization", list(feeds), ["y"], epsilon=1e-3)
    return node, 9, feeds, s * (feeds["x"] - m) / np.sqrt(v + np.float32(1e-3)) + b


def softmax(opset: int, axis: int | None) -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    feeds = random(x=(2, 3, 4))
    node = helper.make_node("Softmax", ["x"], ["y"])
    if axis is not None:
        node.attribute.append(helper.make_attribute("axis", axis))
    if opset >= 13:
        exponential = np.exp(feeds["x"])
        return node, opset, feeds, exponential / exponential.sum(axis=-1 if axis is None else axis, keepdims=True)
    cut = (1 if axis is None else axis) % 3
    matrix = np.exp(feeds["x"].reshape(int(np.prod((2, 3, 4)[:cut])), -1))
    return node, opset, feeds, (matrix / matrix.sum(axis=1, keepdims=True)).reshape(2, 3, 4)


def log_softmax(opset: int, axis: int | None) -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    node, _, feeds, want = softmax(opset, axis)
    node.op_type = "LogSoftmax"
    return node, opset, feeds, np.log(want)


def transposed_convolution() -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    feeds = random(x=(1, 4, 3), w=(4, 3, 2), b=(6,))
    want = np.zeros((1, 6, 6), np.float32) + feeds["b"].reshape(1, 6, 1)
    for c, o, p, k in np.ndindex(4, 3, 3, 2):
        want[0, c // 2 * 3 + o, 2 * p + k] += feeds["x"][0, c, p] * feeds["w"][c, o, k]
    return helper.make_node("ConvTranspose", list(feeds), ["y"], group=2, strides=[2]), 11, feeds, want


def cut_convolution(extent: int, how: str) -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    """With an output_shape: one element more than is wanted, or two fewer."""
    node, opset, feeds, whole = transposed_convolution()
    node.attribute.extend([helper.make_attribute("output_shape", [extent]), helper.make_attribute("auto_pad", how)])
    wide = np.concatenate([whole, np.zeros((1, 6, 2), np.float32) + feeds["b"].reshape(1, 6, 1)], axis=2)
    start = 1 if extent == 5 and how == "NOTSET" else 0
    return node, opset, feeds, wide[:, :, start : start + extent]


def local_response_normalization() -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    """More channels than images."""
    feeds = random(x=(2, 5, 3, 2))
    sums = np.stack([(feeds["x"][:, max(0, c - 1) : c + 2] ** 2).sum(axis=1) for c in range(5)], axis=1)
    node = helper.make_node("LRN", ["x"], ["y"], size=3, alpha=0.5, beta=0.6, bias=1.5)
    return node, 13, feeds, feeds["x"] / (1.5 + 0.5 / 3 * sums) ** 0.6


def recurrent() -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    """Two sequences of two inputs, the second of one; the sum of what came so far, of at most 2 and at least 0."""
    feeds = {"x": np.array([[[1.0], [-3.0]], [[1.5], [9.0]]], np.float32), "w": np.ones((1, 1, 1), np.float32),
             "r": np.ones((1, 1, 1), np.float32), "lengths": np.array([2, 1], np.int32)}  # fmt: skip
    names = ["x", "w", "r", "", "lengths"]
    node = helper.make_node("RNN", names, ["y"], hidden_size=1, clip=2.0, activations=["Relu"])
    return node, 14, feeds, np.array([[[[1.0], [0.0]]], [[[2.0], [0.0]]]], np.float32)


def one_hot() -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    """The depth is a tensor of one element."""
    feeds = {"i": np.array([2, 0]), "d": np.array([3]), "v": np.array([-1.0, 1.0], np.float32)}
    want = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, -1.0]], np.float32)
    return helper.make_node("OneHot", ["i", "d", "v"], ["y"]), 13, feeds, want


def dequantized(opset: int, counts: int, axis: int | None) -> tuple[Any, int, dict[str, np.ndarray], np.ndarray]:
    x = RNG.integers(0, 256, (2, 3, 4), np.uint8)
    scale = RNG.random(counts).astype(np.float32) + np.float32(0.1)
    zero = RNG.integers(0, 256, counts, np.uint8)
    given: dict[str, Any] = {} if axis is None else {"axis": axis}
    node = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"], **given)
    along = (1, -1, 1) if axis is None else [-1 if i == axis % 3 else 1 for i in range(3)]
    want = (x.astype(np.float32) - zero.reshape(along)) * scale.reshape(along)
    return node, opset, {"x": x, "s": scale, "z": zero}, want


def scattered() -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    feeds = random(x=(3, 5), u=(2, 2))
    feeds = {"x": feeds["x"], "i": np.array([[4, 0], [1, -2]]), "u": feeds["u"]}
    want = feeds["x"].copy()
    want[0, 4], want[0, 0], want[1, 1], want[1, 3] = feeds["u"].reshape(-1)
    return helper.make_node("Scatter", ["x", "i", "u"], ["y"], axis=1), 9, feeds, want


def cubic_samples() -> tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]:
    """A row of elements that goes on at both ends with its outermost ones; Keys' cubic of the four nearest."""
    row, places = np.array([1.0, -2.0, 3.0, 5.0], np.float32), np.linspace(-4.0, 8.0, 49, dtype=np.float32)
    grid = np.zeros((1, 1, len(places), 2), np.float32)
    grid[..., 0] = (places * 2 + 1) / len(row) - 1
    result = np.zeros(len(places))
    for i in range(-9, 13):
        t = np.abs(places - i)
        near, far = (1.25 * t - 2.25) * t * t + 1, ((-0.75 * t + 3.75) * t - 6) * t + 3
        result += row[min(max(i, 0), len(row) - 1)] * np.where(t < 1, near, np.where(t < 2, far, 0))
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode="bicubic", padding_mode="border")
    return node, 16, {"x": row.reshape(1, 1, 1, -1), "g": grid}, result.reshape(1, 1, 1, -1)


CASES: dict[str, Any] = {
    **{f"ConvTranspose to {n} {how}": cut_convolution(n, how) for n in (5, 8) for how in ("NOTSET", "SAME_UPPER")},
    "numbers of one scale": dequantized(10, 1, None),
    "numbers of a scale for each channel": dequantized(13, 3, None),
    "numbers of a scale for each index of an axis": dequantized(18, 4, -1),
    "numbers of today": dequantized(21, 4, 2),
    "scattered elements": scattered(),
    "one-hot vectors": one_hot(),
    "cubic samples behind the border": cubic_samples(),
    "recurrent sequences of different lengths": recurrent(),
    "local response normalization": local_response_normalization(),
    "batch normalization": batch_normalization(),
    "softmax of everything behind": softmax(11, None),
    "softmax of a matrix of rows": softmax(11, -1),
    "softmax of one row": softmax(9, 0),
    "softmax along one dimension": softmax(13, 1),
    "logarithm of softmax of everything behind": log_softmax(11, None),
    "logarithm of softmax along one dimension": log_softmax(13, 1),
    "grouped transposed convolution": transposed_convolution(),
}


@pytest.mark.parametrize("name", CASES)
def test_results_follow_the_definition(name: str) -> None:
    node, opset, feeds, want = CASES[name]
    result: Any = evaluator(single_node(node, opset, feeds)).run(None, feeds)
    np.testing.assert_allclose(result[0], want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_onnx_runtime(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    node, opset, feeds, _ = CASES[name]
    model = single_node(node, opset, feeds)
    want = runtime.InferenceSession(model.SerializeToString()).run(None, feeds)
    result: Any = evaluator(model).run(None, feeds)
    np.testing.assert_allclose(result[0], want[0], rtol=1e-5, atol=1e-5)


def test_training_before_it_had_an_attribute_is_refused() -> None:
    feeds = batch_normalization()[2]
    node = helper.make_node("BatchNormalization", list(feeds), ["y", "mean"])
    with pytest.raises(NotImplementedError, match="trains"):
        evaluator(single_node(node, 9, feeds)).run(None, feeds)


def test_logarithms_of_small_probabilities_are_numbers() -> None:
    node = helper.make_node("LogSoftmax", ["x"], ["y"], axis=0)
    feeds = {"x": np.array([[120.0, -3.0], [0.0, 4.0]], np.float32)}
    result: Any = evaluator(single_node(node, 13, feeds)).run(None, feeds)
    np.testing.assert_allclose(result[0], [[0.0, -7.000911], [-120.0, -0.000911]], rtol=1e-4, atol=1e-4)


LOOP = """(float[2,3] x) => (float[2,3] y, float[4,2,3] each)
<int64 trips = {4}>
{
    y, each = Loop <body = body (int64 i, bool c, float[2,3] held) => (bool more, float[2,3] sum, float[2,3] copy) {
        more = Identity (c)
        sum = Add (held, x)
        copy = Identity (sum)
    }> (trips, , x)
}"""


def test_loop_without_a_condition_stacks_what_iterations_give() -> None:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {LOOP}')
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    y, each = evaluator(model).run(None, {"x": x})
    assert np.allclose(y, 5 * x, rtol=1e-6)
    assert np.allclose(each, x * np.arange(2, 6).reshape(4, 1, 1), rtol=1e-6)


def test_loop_without_iterations_gives_nothing_of_the_right_shape() -> None:
    text = LOOP.replace("trips = {4}", "trips = {0}").replace("float[4,2,3] each", "float[0,2,3] each")
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}')
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    y, each = evaluator(model).run(None, {"x": x})
    assert np.array_equal(y, x)
    assert np.shape(each) == (0, 2, 3)
