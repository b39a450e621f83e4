"""Writes the models of the importer's IR tests: make_model.py NAME FILE."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def mlp() -> onnx.GraphProto:
    """Two layers, with the structural operators that disappear or become reshapes."""
    rng = np.random.default_rng(0)
    weights = {"w1": rng.normal(size=(4, 6)), "b1": rng.normal(size=4), "w2": rng.normal(size=(4, 3))}
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w1", "b1"], ["h"], name="fc1", transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Dropout", ["r"], ["d"], name="dropout"),
        helper.make_node("MatMul", ["d", "w2"], ["z"], name="fc2"),
        helper.make_node("Softmax", ["z"], ["y"], name="probabilities"),
    ]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", ["n", 2, 3]), ("y", ["n", 3]))]
    stored = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    return helper.make_graph(nodes, "mlp", values[:1], values[1:], stored)


def unary() -> onnx.GraphProto:
    """Not of a comparison, as bool."""
    less = helper.make_node("Less", ["x", "x"], ["l"], name="less")
    nodes = [less, helper.make_node("Not", ["l"], ["y"], name="not")]
    x, y = (helper.make_tensor_value_info(n, t, [2]) for n, t in (("x", TensorProto.FLOAT), ("y", TensorProto.BOOL)))
    return helper.make_graph(nodes, "unary", [x], [y])


def sequences() -> onnx.GraphProto:
    """A sequence with one more element, and an optional value as it is."""
    return onnx.parser.parse_graph("""sequences (seq(float[N]) s, optional(float[3]) o, float[3] x)
        => (seq(float[]) t, optional(float[3]) p) { t = SequenceInsert (s, x)  p = Identity (o) }""")


if __name__ == "__main__":
    graph = {"mlp": mlp, "sequences": sequences, "unary": unary}[sys.argv[1]]()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[2])
