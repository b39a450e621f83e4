"""Element-wise work of any length, with more intermediate results at once than there are registers."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import mnc

SHAPE = [24, 20]
ONE, TWO = ("Tanh", "Sigmoid", "Erf", "Neg", "Sin", "Softplus"), ("Add", "Sub", "Mul", "Max", "Min")


def _model(rng: np.random.Generator, count: int, *, summed: bool) -> onnx.ModelProto:
    """Values of random ones of the last ninety; then all of them in random order, as a backward pass reads what a
    forward pass has made."""
    nodes, names = [], ["x"]
    for number in range(count):
        operators = ONE if rng.random() < 0.3 else TWO
        read = [names[rng.integers(max(0, len(names) - 90), len(names))] for _ in range(1 if operators is ONE else 2)]
        nodes += [helper.make_node(str(rng.choice(operators)), read, [f"a{number}"])]
        nodes += [helper.make_node("Mul", [f"a{number}", "half"], [f"v{number}"])]
        names.append(f"v{number}")
    total = "x"
    for number, name in enumerate(rng.permutation(names[1:])):
        nodes.append(helper.make_node("Sub", [str(name), total], [f"s{number}"]))
        total = f"s{number}"
    nodes.append(helper.make_node("ReduceSum", [total, "axes" if summed else "none"], ["y"], noop_with_empty_axes=1))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [SHAPE[0], 1] if summed else SHAPE)
    constants = [
        helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
        helper.make_tensor("axes", TensorProto.INT64, [1], [1]),
        helper.make_tensor("none", TensorProto.INT64, [0], []),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(("count", "summed"), [(60, False), (100, False), (100, True), (250, False)])
def test_any_number_of_values_may_wait(count: int, summed: bool) -> None:
    rng = np.random.default_rng(count)
    model = _model(rng, count, summed=summed)
    x = rng.standard_normal(SHAPE).astype(np.float32)
    (want,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(mnc.compile(model).run({"x": x})["y"], want, rtol=1e-4, atol=1e-4)
