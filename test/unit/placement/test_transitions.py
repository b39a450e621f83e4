"""What an operation does is the same for all states that agree in what it sees."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.placement.candidates.policy import policy_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.refine.solve_together import MIXED
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.solve.transitions import Transition, seen, with_nothing_else

from .random_problems import random_problem


def some_way(problem: Problem, random: Random) -> list[tuple[State, State, State]]:
    """A random way through a problem: states, those that follow, and those that follow by a transition that was worked
    out with nothing else around."""
    search, state, found = Search(problem, [policy_of(own) for own in MIXED], Movements()), State(), []
    for number, op in enumerate(problem.operations):
        before = with_nothing_else(problem, seen(problem, state, number), state)
        here, there = [*search.ways(state, number, op)], [*search.ways(before, number, op)]
        assert len(here) == len(there)
        chosen = random.randrange(len(here))
        after = search.follow(state, number, here[chosen])
        transition = Transition.between(before, search.follow(before, number, there[chosen]))
        transition.take(same := state.copy(), number)
        found.append((state, after, same))
        assert transition.left_waiting(state) == tuple(after.waiting)
        state = after
    return found


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_a_transition_leads_where_the_rules_lead(random: Random, operations: int) -> None:
    for before, after, same in some_way(random_problem(random, operations), random):
        assert same.layouts == after.layouts
        assert list(same.waiting.items()) == list(after.waiting.items())
        assert (same.placed, same.bill) == (after.placed, after.bill)
        assert same.compared.keys() == after.compared.keys()
        assert same.price == pytest.approx(after.price)
        assert same is not before and before.layouts.items() <= same.layouts.items()
