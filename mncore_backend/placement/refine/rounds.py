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

SURPRISE = 1.15
"""Factor by which movements of a solution take more than their rough prices say: a search chooses what is too cheap."""

AT_A_TIME = 0.4
"""Part of the movements of a solution, by rough steps, that is planned before it is asked again whether to go on."""

Searched = Callable[[Sequence[State]], list[State]]
"""Finds solutions, knowing those of the rounds before."""
Price = Callable[[State, dict[Movement, Resources]], float]
"""Of a solution whose movements take so much."""


def with_planned(
    search: Searched, price: Price, movements: Movements, plan: Plan, rounds: int, traces: Traces | None = None
) -> list[State]:
    """What so many rounds of searches at most find. The last is one that finds nothing that may be better than the best
    solution of which all movements are planned, even if those that are not take no more than their rough prices; or
    whose best moves nothing that is not planned. A solution is planned no further once it is known not to be better."""

    def roughly(state: State) -> float:
        return price(state, resources_of(state, movements))

    found: list[State] = []
    least = inf
    for number in range(1, rounds + 1):
        if traces is not None:
            traces.round = number
        states = search(found)
        best = min(states, key=lambda state: price(state, resources_of(state, movements, SURPRISE)))
        found += states
        is_planned = all(movement in movements.exact for movement in best.movements)
        if is_planned or roughly(best) >= least:
            break
        if learn_while_less(best, roughly, least, movements, plan):
            least = min(least, roughly(best))
    return found


def learn_while_less(
    state: State, guess: Callable[[State], float], most: float, movements: Movements, plan: Plan
) -> bool:
    """Plan the movements of a solution part by part, as long as it is guessed to take less than the `most`; whether all
    are planned in the end. Those go first that take least: they are planned in the least time, and rough prices are
    most wrong about them."""
    left = sorted((m for m in state.movements if m not in movements.exact), key=lambda m: m.rough.total)
    while left:
        if guess(state) >= most:
            return False
        count = _first_part([m.rough.total for m in left])
        movements.learn(left[:count], plan)
        del left[:count]
    return True


def _first_part(steps: Sequence[float]) -> int:
    """How many of these make up `AT_A_TIME` of all steps."""
    part, most = 0.0, AT_A_TIME * sum(steps)
    for number, own in enumerate(steps, 1):
        part += own
        if part >= most:
            return number
    return len(steps)


def resources_of(state: State, movements: Movements, surprise: float = 1.0) -> dict[Movement, Resources]:
    """What the movements of a solution take; if they are not planned, by so much more than roughly."""
    return {m: movements.exact.get(m, m.rough * surprise) for m in state.movements}
