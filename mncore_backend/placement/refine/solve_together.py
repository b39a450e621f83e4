"""All operations get their places together, at prices that are exact in the end where that decides.

The search goes by rough prices of movements. In a program of few movements each of them counts, if they make up a part
of its price. So what the solution would move is planned, and it searches again with what that really takes, as long as
a solution promises to be better than the best one. (Searching for shortest paths works the same way where the lengths
of edges are dear to find out.) Over many movements the errors of rough prices level out, and to plan them would take
longer than all the rest.
"""

from collections.abc import Callable, Sequence
from math import inf

from mnc.mncore_backend.placement.candidates.policy import Policy, Preference
from mnc.mncore_backend.placement.cost.movements import Movements, Plan
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.refine.searches import Both, Searches, in_turn
from mnc.mncore_backend.placement.solve.duration import duration
from mnc.mncore_backend.placement.solve.room import has_room
from mnc.mncore_backend.placement.solve.search import Pinned
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.trace.trace import Traces
from mnc.mncore_backend.pricing import NOTHING

MIXED: tuple[tuple[Preference, ...], ...] = (), ("cyclic",), ("tensor-parallel",), ("tensor-parallel", "cyclic")
"""Preferences whose policies every operation chooses among, if nothing else is preferred."""
PURE: tuple[tuple[Preference, ...], ...] = *MIXED, ("alike",)
"""Preferences that all operations follow in searches of their own. Among all choices a search gives up early what pays
off late; among few it keeps it."""
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


PLANNED = 4
"""Solutions at most whose movements are all planned, of all that searches found."""
AT_A_TIME = 0.4
"""Part of the movements of a solution, by rough steps, that is planned before it is asked again whether to go on."""
WORTHWHILE = 24
"""Operations of a problem from which two processes gain time."""
CLOSE = 1.15
"""Factor of the least duration by rough prices from which on a solution is not planned."""


def solutions(
    problem: Problem,
    mixed: Sequence[Policy],
    pure: Sequence[Policy] = (),
    pinned: Pinned | None = None,
    plan: Plan = list,
    traces: Traces | None = None,
    both: Both = in_turn,
) -> tuple[list[State], Movements]:
    """States in which every operation has a place, the one that takes least time first. Operations choose among the
    `mixed` policies, or all follow one of the `pure` ones. `plan` plans movements ahead, in several processes perhaps;
    `both` does the same for searches, unless `traces` keep what was compared. With the states come the prices of
    movements that are known by the end."""

    rough, movements = Movements(), Movements(hope=HOPE)
    own = Searches(problem=problem, mixed=mixed, pure=pure, pinned=pinned or {}, traces=traces)
    own = own.at_the_price_of_room(rough)
    shared = both if traces is None and len(problem.operations) >= WORTHWHILE else in_turn
    found = own.by_all_weights(rough, shared)
    found = sorted([*found, own.where_wanted(rough, found)], key=lambda state: state.price)
    if traces is not None:
        traces.planned = movements.exact
    with_room = [state for state in found if has_room(problem, state)]
    if not with_room:
        return found, movements
    found = with_room
    if _each_counts(found[0]):
        wanted = own.wanted(found)
        found += _with_planned(lambda movements: own.all(movements, None, wanted, shared), movements, plan, traces)
    best = _shortest(found, movements, plan)
    for state in best:
        state.weigh(WEIGHTS)  # with room at the same price whatever it was here
    return best, movements


def _each_counts(state: State) -> bool:
    """Whether each movement of a solution decides."""
    moves = state.price - state.price_at(dict.fromkeys(state.movements, NOTHING))
    return len(state.movements) <= FEW and moves >= NOTABLE * state.price


def _with_planned(
    search: Callable[[Movements], list[State]], movements: Movements, plan: Plan, traces: Traces | None
) -> list[State]:
    """What searches find that go by what movements really take, until that promises nothing better."""
    found: list[State] = []
    least = inf
    for number in range(1, ROUNDS + 1):
        if traces is not None:
            traces.round = number
        states = search(movements)
        rough = {m: movements.exact.get(m, m.rough * SURPRISE) for m in states[0].movements}
        if states[0].price_at(rough) >= least:
            break
        movements.learn(states[0].movements, plan)
        least = min(least, states[0].price_at(movements.exact))
        found += states
    return found


def _shortest(found: Sequence[State], movements: Movements, plan: Plan) -> list[State]:
    """Those that promise to take least time, in the order of how long they do with planned movements."""
    promised = {
        id(state): duration(state, {m: movements.exact.get(m, m.rough) for m in state.movements})
        for state in found
    }
    distinct = {repr(sorted(state.placed.items())): state for state in reversed(found)}.values()
    ordered = sorted(distinct, key=lambda state: promised[id(state)])[:PLANNED]
    close = [state for state in ordered if promised[id(state)] <= CLOSE * promised[id(ordered[0])]]
    planned: list[State] = []
    for state in close:
        if _planned_while_promising(state, planned, movements, plan):
            planned.append(state)
    return sorted(planned, key=lambda state: duration(state, movements.exact))


def _planned_while_promising(state: State, planned: Sequence[State], movements: Movements, plan: Plan) -> bool:
    """Plan the movements of a solution, those first that take longest. Of many movements only as many are planned as
    it takes to see that the solution is not shorter than what is `planned`: then the answer is False."""
    if len(state.movements) <= FEW or not planned:
        movements.learn(state.movements, plan)
        return True
    left = sorted((m for m in state.movements if m not in movements.exact), key=lambda m: -m.rough.total)
    while left:
        if not _may_be_shorter(state, planned, movements):
            return False
        count = _first_part([m.rough.total for m in left])
        movements.learn(left[:count], plan)
        del left[:count]
    return True


def _first_part(steps: Sequence[float]) -> int:
    """How many of these, in descending order, make up `AT_A_TIME` of all steps."""
    part, most = 0.0, AT_A_TIME * sum(steps)
    for number, own in enumerate(steps, 1):
        part += own
        if part >= most:
            return number
    return len(steps)


def _may_be_shorter(state: State, planned: Sequence[State], movements: Movements) -> bool:
    """Whether a solution of many movements may take less time than those that are planned, if what is not planned is as
    much cheaper than its rough price as other movements are."""
    least = min(duration(other, movements.exact) for other in planned)
    known = {movement for other in planned for movement in other.movements}
    ratio = sum(movements.exact[m].total for m in known) / max(1.0, sum(m.rough.total for m in known))
    guessed = {m: movements.exact.get(m, m.rough * min(1.0, ratio)) for m in state.movements}
    return duration(state, guessed) < least
