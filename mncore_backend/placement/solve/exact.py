"""The cheapest solution of a small problem, and a proof that it is: best first, over the states of the search.

Choices, rules and prices are those of the beam (`search.py`). But no state is dropped that could lead to something
cheaper than the best solution so far, which is that of the beam at first. Of two states in which everything that is
read later lies alike the dearer is no use. What is followed next is the state with the least sum of its price and of
what the operations that are left cost at least (`least.py`). So once that sum reaches the price of a solution, nothing
is cheaper. If that takes too many states, the least sum is still a bound that no solution can beat.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from math import inf

from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.solve.least import least_prices
from mnc.mncore_backend.placement.solve.plans import ALTERNATIVES
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import State

BUDGET = 20_000
"""States that are met at most, if nobody says otherwise."""
ROUNDING = 1e-6
"""Steps by which sums of prices may differ that are added up in another order."""


@dataclass(frozen=True)
class Exact:
    """The cheapest solution that is known, the least price that any can have, and how many states were met."""

    state: State
    bound: float
    met: int

    @property
    def is_optimum(self) -> bool:
        """Whether nothing is cheaper."""
        return self.bound >= self.state.price - ROUNDING


def solve_exactly(
    search: Search,
    choices: Sequence[Sequence[Policy]],
    known: State,
    budget: int = BUDGET,
    plans: int = ALTERNATIVES,
) -> Exact:
    """The cheapest of all solutions in which every operation follows one of the policies of one of these choices.

    Args:
        search: of the problem, with prices of movements.
        choices: policies among which operations choose: as many problems as there are entries.
        known: a solution.
        budget: states that may be met. Where it does not suffice, `known` or something cheaper is given, and a bound.
        plans: of a product, that are followed from every state: what a search does not follow is no choice.
    """
    best, bound, met = known, inf, 0
    for policies in choices:
        search.among(policies)
        found = _Frontier(search, best, budget - met, plans)
        own = found.solve()
        best, bound, met = found.best, min(bound, own), met + found.met
    return Exact(best, min(bound, best.price), met)


class _Frontier:
    """States that may still lead to something cheaper than the best solution, by their lower bounds."""

    def __init__(self, search: Search, best: State, budget: int, plans: int) -> None:
        self.search, self.best, self.budget, self.plans, self.met = search, best, budget, plans, 0
        least = least_prices(search.problem)
        self._least = least
        self._after = [*accumulate(reversed(least), initial=0.0)][::-1]
        self._cheapest: dict[object, float] = {}
        self._open: list[tuple[float, int, int, object, State]] = []

    def solve(self) -> float:
        """Follow states until none can lead to something cheaper than the best, or the budget is used up. Gives the
        least price that a solution may have."""
        operations = self.search.problem.operations
        self._add(0, State(dict(self.search.problem.placed), weights=self.search.weights))
        while self._open and self._open[0][0] < self.best.price - ROUNDING:
            if self.met >= self.budget:
                return self._open[0][0]
            _, left, _, key, state = heappop(self._open)
            number = len(operations) - left
            if state.price > self._cheapest[key]:
                continue  # another has come to lie alike since, and is cheaper
            for way in self.search.ways(state, number, operations[number], self.plans):
                self._add(number + 1, self.search.follow(state, number, way))
        return self.best.price

    def _add(self, number: int, state: State) -> None:
        """A state in which so many operations are decided."""
        self.met += 1
        bound = state.price + self._after[number] + sum(self._least[own] for own in state.waiting.values())
        if bound >= self.best.price - ROUNDING:
            return
        key = number, self.search.key(number - 1, state)
        if state.price >= self._cheapest.get(key, inf):
            return
        self._cheapest[key] = state.price
        if left := len(self.search.problem.operations) - number:
            heappush(self._open, (bound, left, self.met, key, state))
            return
        self.search.complete(state)
        if state.price < self.best.price:
            self.best = state
