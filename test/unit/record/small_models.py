"""Small models for tests of records, reports and traces."""

from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mnc.executable import Executable
from mnc.options import Options
from mnc.record.compiling import compile_recorded


def perceptron(widths: tuple[int, ...] = (24, 20, 6), rows: int = 10) -> onnx.ModelProto:
    """Layers of Gemm and Relu, named layer0, relu0, layer1, ..."""
    rng = np.random.default_rng(0)
    nodes, weights = [], []
    value = "x"
    for i, (inputs, outputs) in enumerate(pairwise(widths)):
        weights.append(numpy_helper.from_array(rng.standard_normal((inputs, outputs)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"h{i}"], name=f"layer{i}"))
        value = f"y{i}"
        nodes.append(helper.make_node("Relu", [f"h{i}"], [value], name=f"relu{i}"))
    return _model(nodes, weights, {"x": (rows, widths[0])}, {value: (rows, widths[-1])}, "perceptron")


def softmax(rows: int = 6, columns: int = 40) -> onnx.ModelProto:
    """One node that is several loop nests: the row maximum, exponentials, their sum, the quotient."""
    nodes = [helper.make_node("Softmax", ["x"], ["y"], name="softmax", axis=-1)]
    return _model(nodes, [], {"x": (rows, columns)}, {"y": (rows, columns)}, "softmax")


def _model(
    nodes: list[onnx.NodeProto],
    weights: list[onnx.TensorProto],
    inputs: dict[str, tuple[int, ...]],
    outputs: dict[str, tuple[int, ...]],
    name: str,
) -> onnx.ModelProto:
    given, found = (
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in values.items()]
        for values in (inputs, outputs)
    )
    graph = helper.make_graph(nodes, name, given, found, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def recorded(model: onnx.ModelProto, options: Options | None = None) -> tuple[Executable, dict]:
    """The program of a model and its complete record."""
    executable, record = compile_recorded(model, options or Options(), complete=True)
    assert record is not None
    return executable, record.unpacked()
