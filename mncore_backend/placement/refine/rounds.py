"""Rounds of searches in which more and more is known of what movements take.

In a program of few movements each of them decides. So what a solution would move is planned, and the searches are done
again with what that really takes, as long as they promise something better than the best solution that is planned.
"""

from collections.abc import Callable, Sequence
from math import inf

from mnc.mncore_backend.placement.cost.movements import Movement, Movements, Plan
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.trace.trace import Traces
from mnc.mncore_backend.pricing import Resources

ROUNDS = 4
"""Rounds at most."""
SURPRISE = 1.15
"""Factor by which movements of a solution take more than their rough prices say: a search chooses what is too cheap."""

DOUBT = 1.05
"""Factor by which a solution that looks longer than another may be the shorter one: how far prices are off."""

Searched = Callable[[Sequence[State]], list[State]]
"""Finds solutions, knowing those of the rounds before."""
Price = Callable[[State, dict[Movement, Resources]], float]
"""Of a solution whose movements take so much."""


def with_planned(
    search: Searched, price: Price, movements: Movements, plan: Plan, traces: Traces | None = None
) -> list[State]:
    """What rounds of searches find. The last is one that finds nothing that may be better than the best solution of
    which all movements are planned, even if those that are not take no more than their rough prices; or whose best
    moves nothing that is not planned. A doubtful one is the last, too, behind one that found nothing better."""
    found: list[State] = []
    least, doubt = inf, DOUBT
    for number in range(1, ROUNDS + 1):
        if traces is not None:
            traces.round = number
        states = search(found)
        best = min(states, key=lambda state: price(state, resources_of(state, movements, SURPRISE)))
        found += states
        is_planned = all(movement in movements.exact for movement in best.movements)
        if is_planned or price(best, resources_of(best, movements)) >= doubt * least:
            break
        movements.learn(best.movements, plan)
        exact = price(best, movements.exact)
        least, doubt = min(least, exact), DOUBT if exact < least else 1.0
    return found


def resources_of(state: State, movements: Movements, surprise: float = 1.0) -> dict[Movement, Resources]:
    """What the movements of a solution take; if they are not planned, by so much more than roughly."""
    return {m: movements.exact.get(m, m.rough * surprise) for m in state.movements}
