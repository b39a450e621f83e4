"""How much time is spent on layouts: with little effort, one solution by rough prices."""

from random import Random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import mnc
from mnc.mncore_backend.placement.candidates.policy import policy_of
from mnc.mncore_backend.placement.preferences import Effort
from mnc.mncore_backend.placement.refine import solve_together
from mnc.mncore_backend.placement.refine.searches import Searches
from mnc.mncore_backend.placement.refine.solve_together import MIXED, PURE, solutions
from mnc.mncore_backend.placement.solve.makespan import makespan
from mnc.mncore_backend.shortest.trials import Trials
from mnc.options import Options
from mnc.placement_problem import problem_of_model

from .random_problems import random_problem

ROWS, COLUMNS = 256, 192


def attention() -> onnx.ModelProto:
    """Products whose factors come from products, with a softmax between them: several solutions come into question."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal((COLUMNS, COLUMNS)).astype(np.float32) / 14, f"w{i}")
        for i in range(3)
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["q"]),
        helper.make_node("MatMul", ["x", "w1"], ["k"]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[1, 0]),
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=1),
        helper.make_node("MatMul", ["x", "w2"], ["v"]),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, COLUMNS]) for name in "xy")
    graph = helper.make_graph(nodes, "attention", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("seed", range(4))
def test_one_solution_is_found_whose_movements_are_planned(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_together, "with_planned", lambda *_: pytest.fail("searched on with planned movements"))
    problem = random_problem(Random(seed), 5)
    mixed, pure = ([policy_of(names) for names in own] for own in (MIXED, PURE))
    states, movements = solutions(problem, mixed, pure, effort="quick")
    assert len(states) == 1
    assert all(movement in movements.exact for movement in states[0].movements)


@pytest.mark.parametrize(("many", "effort", "is_near"), [
    (False, "normal", True), (False, "quick", True), (True, "normal", True), (True, "quick", False)
])  # fmt: skip
def test_near_known_solutions_is_searched_where_operations_are_few_or_time_is_not_short(
    many: bool, effort: Effort, is_near: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    near: list[object] = []
    search = Searches.nearby
    monkeypatch.setattr(Searches, "nearby", lambda *given: near.append(given[2]) or search(*given))
    problem = random_problem(Random(2), 5)
    if many:
        monkeypatch.setattr(solve_together, "MANY", len(problem.operations))
    mixed, pure = ([policy_of(names) for names in own] for own in (MIXED, PURE))
    assert solutions(problem, mixed, pure, effort=effort)[0]
    assert bool(near) == is_near


def test_it_is_the_shortest_by_rough_prices() -> None:
    problem = problem_of_model(attention(), Options())
    mixed, pure = ([policy_of(names) for names in own] for own in (MIXED, PURE))
    (quick,), _ = solutions(problem, mixed, pure, effort="quick")
    normal, _ = solutions(problem, mixed, pure)
    rough = [makespan(problem, own, {m: m.rough for m in own.movements}) for own in (quick, *normal)]
    assert rough[0] == min(rough)


def test_one_program_is_compiled_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    make = Trials._made
    monkeypatch.setattr(Trials, "_made", lambda *given: made.append(given[2]) or make(*given))
    program = mnc.compile(attention(), Options(effort="quick"))
    assert made == [("together",)] and program.preferences == ("together",)
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    (want,) = ReferenceEvaluator(attention()).run(None, {"x": x})
    np.testing.assert_allclose(program.run({"x": x})["y"], np.asarray(want), rtol=0, atol=1e-4 * np.abs(want).max())
