"""Models made for tests."""

import itertools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def perceptron(widths: list[int], batch: int, seed: int, softmax: bool) -> onnx.ModelProto:
    """Gemm and Relu layers of the given widths with random weights, every value a graph output."""
    rng = np.random.default_rng(seed)
    nodes, initializers, outputs, current = [], [], [], "x"
    for i, (inputs, units) in enumerate(itertools.pairwise(widths)):
        weight = (rng.standard_normal((units, inputs)) * np.sqrt(2 / inputs)).astype(np.float32)
        bias = (0.1 * rng.standard_normal(units)).astype(np.float32)
        initializers += [numpy_helper.from_array(weight, f"w{i}"), numpy_helper.from_array(bias, f"b{i}")]
        nodes.append(helper.make_node("Gemm", [current, f"w{i}", f"b{i}"], [f"h{i}"], name=f"gemm{i}", transB=1))
        outputs.append((f"h{i}", units))
        current = f"h{i}"
        if i < len(widths) - 2:
            nodes.append(helper.make_node("Relu", [current], [f"r{i}"], name=f"relu{i}"))
            outputs.append((f"r{i}", units))
            current = f"r{i}"
    if softmax:
        nodes.append(helper.make_node("Softmax", [current], ["p"], name="softmax", axis=-1))
        outputs.append(("p", widths[-1]))
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, widths[0]])
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, units]) for name, units in outputs]
    graph = helper.make_graph(nodes, "perceptron", [entry], results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model
