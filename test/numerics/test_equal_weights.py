"""Weights that are one number everywhere, as models without their weights have them, against the reference."""

import numpy as np
from onnx import TensorProto, helper

import mnc


def test_convolutions_are_matrix_products() -> None:
    """As sums over windows they would take all channels into one PE: SqueezeNet would not fit."""
    info = helper.make_tensor_value_info
    third = helper.make_tensor("third", TensorProto.FLOAT, [1], [1 / 3])
    shapes = [helper.make_tensor(f"shape{i}", TensorProto.INT64, [4], s) for i, s in enumerate(SHAPES)]
    nodes = [
        *(helper.make_node("ConstantOfShape", [f"shape{i}"], [f"weight{i}"], value=third) for i in range(len(SHAPES))),
        helper.make_node("Conv", ["x", "weight0"], ["a"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "weight1"], ["c"], name="second"),
        helper.make_node("GlobalAveragePool", ["c"], ["y"]),
    ]
    entries = [info("x", TensorProto.FLOAT, [1, 16, 13, 13])], [info("y", TensorProto.FLOAT, [1, 48, 1, 1])]
    graph = helper.make_graph(nodes, "equal", *entries, initializer=shapes)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = np.random.default_rng(0).standard_normal([1, 16, 13, 13]).astype(np.float32)
    (got,) = mnc.compile(model).run({"x": x}).values()
    around = np.pad(x.astype(np.float64).sum(1)[0], 1)
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3)).sum((2, 3))
    want = 32 / 9 * np.maximum(windows, 0).mean()
    assert np.abs(got - want).max() < 2.0**-16 * np.abs(want)


SHAPES = ([32, 16, 3, 3], [48, 32, 1, 1])
