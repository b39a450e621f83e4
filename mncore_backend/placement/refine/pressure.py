"""What room on the chip costs where constants stay on it from run to run.

Copies of a constant save movements and sums, and take room as long as the program runs. No decision by itself says
whether there is room for that: all constants share it. So a long word has a price, the same for all, and it rises until
what a search finds has room. (Lagrangian relaxation does the same for capacities of any kind.)
"""

from collections.abc import Callable

from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.solve.room import held
from mnc.mncore_backend.placement.solve.state import State

RISE = 2.0
"""Factor from one price to the next that is tried."""
MOST = 50.0
"""Steps per long word: where what is found at that price has no room, nothing has."""


def price_of_room(problem: Problem, search: Callable[[float], State]) -> float:
    """Steps per long word of a PE, the least of those that are tried at which the constants of what `search` finds have
    room; the least there is where no constants stay."""

    def has_room(price: float) -> bool:
        return held(search(price)) <= problem.for_constants

    price = WEIGHTS["held"]
    if not any(tensor.resident for tensor in problem.tensors) or has_room(price) or not has_room(MOST):
        return price
    price *= RISE
    while price < MOST and not has_room(price):
        price *= RISE
    return price
