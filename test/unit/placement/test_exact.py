"""The exact solver: against all combinations of choices, and its bound against the beam."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.placement.candidates import policy_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.problem import Loops, Problem, Product
from mnc.mncore_backend.placement.problem.saved import to_json
from mnc.mncore_backend.placement.refine.solve_together import MIXED
from mnc.mncore_backend.placement.solve.exact import solve_exactly
from mnc.mncore_backend.placement.solve.least import least_prices
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import State
from mnc.options import Options
from mnc.placement_problem import problem_of_model
from mnc.tools.commands.placement import command

from .random_problems import random_problem
from .test_saved import model
from .test_search import chain

POLICIES = [policy_of(names) for names in MIXED]
PLAIN = POLICIES[0]
AMPLE = 200_000

def problems(most: int = 6) -> st.SearchStrategy[Problem]:
    """Random problems of up to so many operations."""
    return st.builds(random_problem, st.randoms(use_true_random=False), st.integers(1, most))


def all_solutions(search: Search) -> Iterator[State]:
    """Every combination of choices, without merging anything."""
    states = [State()]
    for number, op in enumerate(search.problem.operations):
        states = [search.follow(state, number, way) for state in states for way in search.ways(state, number, op)]
    for state in states:
        search.complete(state)
        yield state


@settings(deadline=None, max_examples=25)
@given(problems(3))
def test_nothing_is_cheaper_than_the_optimum(problem: Problem) -> None:
    search = Search(problem, [PLAIN], Movements())
    found = solve_exactly(search, [[PLAIN]], search.run(width=1), AMPLE)
    assert found.is_optimum
    assert found.state.price == pytest.approx(min(state.price for state in all_solutions(search)))


def test_it_matters_where_operands_of_waiting_work_lie() -> None:
    """Work that waits is done when its result is wanted: until then its operands are still to be read."""
    problem = random_problem(Random(108), 3)
    search = Search(problem, [PLAIN], Movements())
    least = min(state.price for state in all_solutions(search))
    assert search.run(width=AMPLE).price == pytest.approx(least)
    assert solve_exactly(search, [[PLAIN]], search.run(width=1), AMPLE).state.price == pytest.approx(least)


@settings(deadline=None, max_examples=40)
@given(problems(), st.integers(1, 60))
def test_bound_optimum_and_beam_come_in_this_order(problem: Problem, budget: int) -> None:
    search = Search(problem, POLICIES, Movements())
    beam = search.run()
    optimum = solve_exactly(search, [POLICIES], beam, AMPLE)
    early = solve_exactly(search, [POLICIES], search.run(width=1), budget)
    assert optimum.bound <= optimum.state.price + 1e-6 <= beam.price + 2e-6
    assert early.bound <= optimum.state.price + 1e-6
    assert early.state.price >= optimum.bound - 1e-6
    assert optimum.is_optimum


@settings(deadline=None, max_examples=25)
@given(problems())
def test_no_state_pays_less_than_the_least_prices(problem: Problem) -> None:
    search = Search(problem, POLICIES, Movements())
    least = least_prices(problem)
    assert sum(least) <= min(search.run().price, search.run(width=1).price) + 1e-6
    assert all(own > 0 for own, op in zip(least, problem.operations, strict=True) if isinstance(op, Product | Loops))


def test_the_bound_of_windows_counts_every_point() -> None:
    """Loops over windows read fewer elements than they have points."""
    problem = problem_of_model(model(), Options())
    search = Search(problem, POLICIES, Movements())
    found = solve_exactly(search, [POLICIES], search.run(width=1), AMPLE)
    assert found.is_optimum and sum(least_prices(problem)) <= found.state.price


def test_a_budget_that_does_not_suffice_gives_a_bound() -> None:
    problem = chain(64, [64, 130, 64, 17])
    search = Search(problem, POLICIES, Movements())
    beam = search.run()
    found = solve_exactly(search, [POLICIES], beam, 30)
    assert not found.is_optimum and 0 < found.bound < beam.price and found.state is beam
    assert found.met < 30 + 30  # all successors of one state are met


def test_the_cheapest_of_all_choices_is_found_and_what_was_known_is_kept() -> None:
    problem = chain(64, [64, 130])
    alike = policy_of(("alike",))
    search = Search(problem, [PLAIN, alike], Movements())
    each = [solve_exactly(search, [[own]], search.run([own]), AMPLE).state.price for own in (PLAIN, alike)]
    both = solve_exactly(search, [[PLAIN], [alike]], search.run([PLAIN]), AMPLE)
    assert both.state.price == pytest.approx(min(each)) and both.is_optimum
    known = search.run([PLAIN])
    assert solve_exactly(search, [[PLAIN]], known, AMPLE).state is known  # nothing is cheaper


def run(*arguments: str) -> Any:
    return CliRunner().invoke(command, list(arguments))


def test_the_command_says_whether_the_search_is_right(tmp_path: Path) -> None:
    file = tmp_path / "problem.json"
    file.write_text(json.dumps(to_json(chain(64, [64, 130, 64, 17]))))
    proven = run(str(file), "--exact")
    assert proven.exit_code == 0, proven.output
    assert "no solution is cheaper" in proven.output
    open_ = run(str(file), "--exact", "--budget", "20")
    assert open_.exit_code == 0 and "at most" in open_.output and "--budget N" in open_.output
    data = json.loads(run(str(file), "--exact", "--json").output)["exact"]
    assert data["is_optimum"] and data["bound"] == pytest.approx(data["price"]) and data["beam"] >= data["price"]
    refused = run(str(file), "--budget", "20")
    assert "--budget belongs to --exact" in str(refused.exception)
