"""ONNX files for the tests of commands: a small good one, and one for everything that can be wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, list[Any]],
    outputs: dict[str, list[Any]],
    weights: dict[str, np.ndarray] | None = None,
    opset: int = OPSET,
) -> onnx.ModelProto:
    """A float model; shapes may hold names for open extents."""
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in entries.items()]
        for entries in (inputs, outputs)
    ]
    initializers = [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()]
    entries, results = ends
    graph = helper.make_graph(nodes, "test", entries, results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def tiny(batch: Any = 16) -> onnx.ModelProto:
    """y = relu(x w): 8 to 4 features."""
    weight = (np.arange(32, dtype=np.float32).reshape(8, 4) - 16) / 32
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["h"], name="layer"),
        helper.make_node("Relu", ["h"], ["y"], name="relu"),
    ]
    return model(nodes, {"x": [batch, 8]}, {"y": [batch, 4]}, {"w": weight})


def _unary(op_type: str, opset: int = OPSET, **attributes: Any) -> onnx.ModelProto:
    return model(
        [helper.make_node(op_type, ["x"], ["y"], name="culprit", **attributes)],
        {"x": [4, 4]},
        {"y": [4, 4]},
        opset=opset,
    )


def too_large() -> onnx.ModelProto:
    """An operation that is not done part by part, and alone exceeds the local memories of the chip (128 MiB)."""
    nodes = [
        helper.make_node("Concat", ["x", "x"], ["c"], name="huge", axis=0),
        helper.make_node("ReverseSequence", ["c", "lengths"], ["y"], name="reversed", time_axis=0, batch_axis=1),
    ]
    return model(nodes, {"x": [4096, 3072]}, {"y": [8192, 3072]}, {"lengths": np.full(3072, 5000)})


def broken_files(directory: Path) -> None:
    """Write ``<what>.onnx`` for everything that can be wrong with a model."""
    good = tiny().SerializeToString()
    contents = {
        "truncated": good[: len(good) // 2],
        "text": b"this is not a model\n",
        "empty": b"",
        "undefined_value": model(
            [helper.make_node("Relu", ["absent"], ["y"], name="culprit")], {"x": [2]}, {"y": [2]}
        ).SerializeToString(),
        "contradicting_shapes": model(
            [helper.make_node("MatMul", ["x", "x"], ["y"], name="culprit")], {"x": [3, 5]}, {"y": [3, 5]}
        ).SerializeToString(),
        "open_shape": tiny("batch").SerializeToString(),
        "unsupported_operator": model(
            [helper.make_node("MaxRoiPool", ["x", "r"], ["y"], name="culprit", pooled_shape=[1, 1])],
            {"x": [1, 1, 4, 4], "r": [1, 5]}, {"y": [1, 1, 1, 1]},
        ).SerializeToString(),
        "unknown_operator": _unary("NoSuchOperator").SerializeToString(),
        "unsupported_attribute": model(
            [helper.make_node("MaxPool", ["x"], ["y"], name="culprit", kernel_shape=[2], auto_pad="SOMEHOW")],
            {"x": [1, 1, 4]}, {"y": [1, 1, 3]},
        ).SerializeToString(),
        "new_opset": _unary("Relu", opset=99).SerializeToString(),
        "too_large": too_large().SerializeToString(),
    }  # fmt: skip
    for name, data in contents.items():
        (directory / f"{name}.onnx").write_bytes(data)
