"""All operations get their places together, at prices that are exact in the end where that decides.

The search goes by rough prices of movements. In a program of few movements each of them counts, if they make up a part
of its price. So what the solution would move is planned, and it searches again with what that really takes, as long as
a solution promises to be better than the best one. (Searching for shortest paths works the same way where the lengths
of edges are dear to find out.) Over many movements the errors of rough prices level out, and to plan them would take
longer than all the rest.
"""

from collections.abc import Sequence

from mnc.mncore_backend.distribution.policy import Policy, Preference
from mnc.mncore_backend.placement.movements import Movements, Plan
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.search import Pinned, Search
from mnc.mncore_backend.placement.state import State
from mnc.mncore_backend.placement.trace import Traces

MIXED: tuple[tuple[Preference, ...], ...] = (), ("cyclic",), ("tensor-parallel",), ("tensor-parallel", "cyclic")
"""Preferences whose policies every operation chooses among, if nothing else is preferred."""
PURE: tuple[tuple[Preference, ...], ...] = *MIXED, ("alike",)
"""Preferences that all operations follow in searches of their own. Among all choices a search gives up early what pays
off late; among few it keeps it."""
NARROW = 4
"""States that these searches keep."""
FEW = 20
"""Movements of a solution up to which all of them are planned."""
NOTABLE = 1 / 15
"""Part of the price that movements make up where what they really take decides."""
ROUNDS = 4
"""Searches with planned movements at most; fewer where a solution does not promise to be better than the best."""
SURPRISE = 1.15
"""Factor by which movements of a solution take more than their rough prices say: a search chooses what is too cheap."""
HOPE = 0.6
"""Part of a rough price that is taken for the exact one until that is known: what looks dear may be cheap."""


def solutions(
    problem: Problem,
    mixed: Sequence[Policy],
    pure: Sequence[Policy] = (),
    pinned: Pinned | None = None,
    plan: Plan = list,
    traces: Traces | None = None,
) -> tuple[list[State], Movements]:
    """States in which every operation has a place, the cheapest first: of several searches one each. Operations choose
    among the `mixed` policies, or all follow one of the `pure` ones, whichever is cheaper. `plan` plans movements
    ahead, in several processes perhaps; `traces` keep what was compared. With the states come the prices of movements
    that are known by the end."""

    def cheapest(movements: Movements) -> State:
        search = Search(problem, list(dict.fromkeys([*mixed, *pure])), movements, pinned or {}, tracer=traces)
        found = [search.run(mixed), *(search.run([policy], NARROW) for policy in pure)]
        return min(found, key=lambda state: state.price)

    movements = Movements()
    first = cheapest(movements)
    moves = first.price - first.price_at(dict.fromkeys(first.movements, 0.0))
    if len(first.movements) > FEW or moves < NOTABLE * first.price:
        return [first], movements
    movements = Movements(hope=HOPE)
    if traces is not None:
        traces.planned = movements.exact
    found: list[tuple[float, State]] = []
    for number in range(1, ROUNDS + 1):
        if traces is not None:
            traces.round = number
        state = cheapest(movements)
        expected = state.price_at({m: movements.exact.get(m, SURPRISE * m.rough) for m in state.movements})
        if found and expected >= min(price for price, _ in found):
            break
        movements.learn([movement for movement in state.movements if movement not in movements.exact], plan)
        found.append((state.price_at(movements.exact), state))
    return [state for _, state in sorted(found, key=lambda pair: pair[0])], movements
