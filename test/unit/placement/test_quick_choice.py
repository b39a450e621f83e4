"""With little effort the solution is the shortest of those that were planned, and few are."""

from collections.abc import Iterable
from typing import Any, cast

import pytest

from mnc.mncore_backend.placement.refine import solve_together
from mnc.mncore_backend.pricing import Resources


class Move:
    """A movement with a rough price and what it really takes."""

    def __init__(self, rough: float, exact: float) -> None:
        self.rough, self.exact = Resources(alu=rough), Resources(alu=exact)


class Known:
    """Exact prices, and how often they were asked for."""

    def __init__(self) -> None:
        self.exact: dict[Any, Resources] = {}
        self.asked = 0

    def learn(self, movements: Iterable[Move], _: Any) -> None:
        self.asked += 1
        self.exact |= {move: move.exact for move in movements}


class Solution:
    """A state as far as it is looked at."""

    def __init__(self, *movements: Move) -> None:
        self.movements = movements


def lasts(state: Any, known: Any) -> float:
    return sum(known[move].total for move in state.movements)


@pytest.mark.parametrize(
    ("prices", "chosen", "asked"),
    [([(5, 90), (6, 7), (8, 1)], 1, 2), ([(5, 6), (7, 1)], 0, 1), ([(5, 9), (6, 8), (7, 10), (7.5, 1)], 1, 3)],
    ids=["the first is dear", "the first is as promised", "not all are planned"],
)
def test_what_looked_cheap_and_is_dear_is_not_taken(prices: Any, chosen: int, asked: int) -> None:
    found = [Solution(Move(*own)) for own in prices]
    known = Known()
    best = solve_together._least_when_planned(cast(Any, found), lasts, cast(Any, known), list)
    assert cast(Any, best) is found[chosen] and known.asked == asked
