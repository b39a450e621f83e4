"""Searches that know a solution do not lose it, and find what is better around it."""

from operator import attrgetter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.placement.candidates.policy import policy_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.refine.nearby import TRIALS, Steps, distinct, near_the_best
from mnc.mncore_backend.placement.refine.solve_together import MIXED
from mnc.mncore_backend.placement.solve.duration import LAW
from mnc.mncore_backend.placement.solve.guide import Guide
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import Placed, State

from .random_problems import random_problem
from .test_duration import MOVEMENT


def solution(name: int) -> State:
    """A solution that is told from others by this number."""
    return State(placed={name: Placed((), MOVEMENT.source)}, price=float(name))


def test_each_better_solution_is_where_the_next_search_starts() -> None:
    """Two ways, from what is best by each of two estimates."""
    asked: list[int] = []

    def near(known: State, steps: Steps) -> State:
        asked.append(int(known.price))
        better = 1 if known.price > 7 else 0
        return solution(int(known.price) - better if steps(solution(1)) > 0 else int(known.price) + better)

    found = near_the_best([solution(own) for own in (30, 9, 20)], near, lambda own: own.price, lambda own: -own.price)
    assert [state.price for state in found] == [8, 7, *(30 + i for i in range(1, TRIALS + 1))]
    assert asked == [9, 8, 7, *(30 + i for i in range(TRIALS))]  # nobody looked around the third


def test_what_is_known_already_is_not_followed_again() -> None:
    price = attrgetter("price")
    found = near_the_best([solution(9), solution(8)], lambda *_: solution(5), price, price)
    assert [state.price for state in found] == [5]
    assert near_the_best([solution(9), solution(8)], lambda *_: solution(8), price, price) == []


def test_of_equal_solutions_there_is_one() -> None:
    first, second = solution(1), solution(2)
    assert distinct([first, second, solution(1)]) == [first, second]


@settings(deadline=None, max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_a_search_near_a_solution_finds_nothing_that_takes_longer(random: Random, operations: int) -> None:
    """With the policy that it came from, and as many states as there are."""
    search = Search(random_problem(random, operations), [policy_of(own) for own in MIXED], Movements())
    known = search.run(search.policies[:1], 1)
    again = search.run(search.policies[:1], 1 << 12, near=known, law=LAW)
    assert search.duration(again) <= search.duration(known) + 1e-6


@settings(deadline=None, max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_a_solution_is_no_way_from_itself(random: Random, operations: int) -> None:
    search = Search(random_problem(random, operations), [policy_of(())], Movements())
    known = search.run()
    borders = search.borders
    guide = Guide(known, borders, search.movements, weight=1.0)
    assert guide.distance(borders.places(known.layouts.items(), -1)) == pytest.approx(0.0)
