"""The price of room on the chip rises until constants that stay there fit."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import mnc
from mnc import Options
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import Problem, Tensor
from mnc.mncore_backend.placement.refine.pressure import MOST, price_of_room
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.target import Precision
from mnc.report import report

ROOM = 1000


def state_with(longs: float) -> State:
    """A state whose constants take so many long words of a PE."""
    state = State()
    state.pay("held", longs)
    return state


def price(longs_at_price_one: float, *, resident: bool = True) -> float:
    """The price where what is held falls as the price rises."""
    problem = Problem((Tensor((8, 8), resident=resident),), (), 1024, (), for_constants=ROOM)
    return price_of_room(problem, lambda own: state_with(longs_at_price_one / own))


def test_room_is_cheap_where_there_is_enough() -> None:
    assert price(WEIGHTS["held"] * ROOM / 2) == WEIGHTS["held"]


def test_the_price_rises_until_there_is_room() -> None:
    found = price(2 * ROOM)
    assert 2.0 <= found <= 4.0 and found > WEIGHTS["held"]


def test_nothing_is_searched_where_no_constant_stays() -> None:
    assert price(1e9, resident=False) == WEIGHTS["held"]


def test_where_no_price_is_enough_the_least_is_taken() -> None:
    assert price(2 * MOST * ROOM) == WEIGHTS["held"]


def perceptron(width: int, layers: int) -> onnx.ModelProto:
    """Layers of one width, with constant weights."""
    random = np.random.default_rng(5)
    weights = [(random.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32) for _ in range(layers)]
    nodes, value = [], "x"
    for i in range(layers):
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"h{i}"]))
        nodes.append(helper.make_node("Relu", [f"h{i}"], [f"y{i}"]))
        value = f"y{i}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (8, width)) for name in ("x", value)]
    named = [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)]
    graph = helper.make_graph(nodes, "perceptron", ends[:1], ends[1:], named)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(
    ("precision", "layers", "everything_stays"),
    [("pseudo-single", 2, True), ("pseudo-single", 9, False), ("half", 2, True), ("half", 18, False)],
)
def test_what_has_no_room_is_loaded_in_every_run(precision: Precision, layers: int, everything_stays: bool) -> None:
    """On the small machine nine layers have no room between runs, eighteen as halves, two have."""
    model = perceptron(256, layers)
    program = mnc.compile(model, Options(resident="state", machine="small", precision=precision))
    weights = layers * 256 * 256 * 4  # bytes
    loaded = report(program)["total"]["dram_bytes"] - 2 * 8 * 256 * 4
    assert loaded == 0 if everything_stays else 0 < loaded < weights / 2
    x = np.random.default_rng(6).standard_normal((8, 256)).astype(np.float32)
    (want,) = ReferenceEvaluator(model).run(None, {"x": x})
    (got,) = program.run({"x": x}).values()
    error = 0.02 if precision == "half" else 1e-4
    assert float(np.abs(got - want).max()) <= error * float(np.abs(want).max())
