"""All operations get their places together, at prices that are exact in the end where that decides.

The search goes by rough prices of movements. In a program of few movements each of them counts, if they make up a part
of its price. So what the solution would move is planned, and it searches again with what that really takes, as long as
a solution promises to be better than the best one. (Searching for shortest paths works the same way where the lengths
of edges are dear to find out.) Over many movements the errors of rough prices level out, and to plan them would take
longer than all the rest, unless they make up most of the price. In long programs they are off by less, since what moves
is large: there the searches are done once, and the best two solutions are compared with planned movements.
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.cost.movements import Movement, Movements, Plan
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.preferences import Effort, Preference
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.refine.both import Both, in_turn
from mnc.mncore_backend.placement.refine.nearby import distinct
from mnc.mncore_backend.placement.refine.rounds import learn_while_less, resources_of, with_planned
from mnc.mncore_backend.placement.refine.searches import Searches
from mnc.mncore_backend.placement.solve.duration import duration, is_short
from mnc.mncore_backend.placement.solve.plans import Pinned
from mnc.mncore_backend.placement.solve.room import has_room
from mnc.mncore_backend.placement.solve.search import Wanted
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.trace.trace import Traces
from mnc.mncore_backend.pricing import NOTHING

MIXED: tuple[tuple[Preference, ...], ...] = (
    (), ("cyclic",), ("tensor-parallel",), ("tensor-parallel", "cyclic"), ("data-parallel",)
)  # fmt: skip
"""Preferences whose policies every operation chooses among, if nothing else is preferred."""
PURE: tuple[tuple[Preference, ...], ...] = *MIXED, ("whole-axes",), ("alike",)
"""Preferences that all operations follow in searches of their own. Among all choices a search gives up early what pays
off late; among few it keeps it."""
FEW = 32
"""Movements of a solution that are few."""
NOTABLE, MOST = 1 / 15, 2 / 3
"""Part of the price that movements make up where what they really take decides, if they are few or many."""
HOPE = 0.6
"""Part of a rough price that is taken for the exact one until that is known: what looks dear may be cheap."""

COMPARED = 6
"""Solutions that are compiled where programs are small."""
MANY = 64
"""Operations of a problem from which a short program is searched for like a long one: searches near solutions take half
a minute for small recurrences and blocks of transformers, for programs that are shorter by 1 %."""
WORTHWHILE = 24
"""Operations of a problem from which two processes gain time."""


class Budget(NamedTuple):
    """What is spent on a problem.

    Attributes:
        rounds: of searches with planned movements at most.
        planned: solutions at most, of all that searches found, whose movements are all planned to compare them.
        close: factor of the least duration by rough prices from which on a solution is not planned.
    """

    rounds: int
    planned: int
    close: float


LONG, MIDDLE, SHORT = Budget(0, 2, 1.15), Budget(4, 4, 1.15), Budget(2, 8, 1.25)
"""Of programs of more than `MOST_STEPS`, of shorter ones, and of such that have few operations, too."""


def solutions(
    problem: Problem,
    mixed: Sequence[Policy],
    pure: Sequence[Policy] = (),
    pinned: Pinned | None = None,
    plan: Plan = list,
    traces: Traces | None = None,
    both: Both = in_turn,
    effort: Effort = "normal",
) -> tuple[list[State], Movements]:
    """States in which every operation has a place, the one that takes least time first. Operations choose among the
    `mixed` policies, or all follow one of the `pure` ones. `plan` plans movements ahead, in several processes perhaps;
    `both` does the same for searches, unless `traces` keep what was compared. With little `effort` there is one state,
    and its movements alone are planned. With the states come the prices of movements that are known by the end."""

    rough, movements = Movements(), Movements(hope=HOPE)
    own = Searches(problem=problem, mixed=mixed, pure=pure, pinned=pinned or {}, traces=traces)
    own = own.at_the_price_of_room(rough)
    shared = both if traces is None and len(problem.operations) >= WORTHWHILE else in_turn
    found = own.narrow(rough, both=shared)
    budget = _budget(problem, found, rough)
    if budget is SHORT:
        found += own.by_other_weights(rough, shared)
        found += own.nearby(rough, found, shared)
    else:
        found += _wide(own, own.wanted(found), rough, shared)
    if budget is not LONG:
        found += own.by_own_prices(rough)
    found.sort(key=lambda state: state.price)
    if traces is not None:
        traces.planned = movements.exact
    with_room = [state for state in found if has_room(problem, state)]
    if not with_room:
        return found, movements
    found = with_room
    if effort == "quick":
        movements.learn(found[0].movements, plan)
        found[0].weigh(WEIGHTS)
        return found[:1], movements
    if budget.rounds and _each_counts(found[0]):
        own = replace(own, pure=own.pure if budget is SHORT else (), made={})
        found += _in_rounds(own, found, movements, budget, plan, shared)
    best = _shortest(found, movements, plan, budget)
    for state in best:
        state.weigh(WEIGHTS)  # with room at the same price whatever it was here
    return best, movements


def _budget(problem: Problem, found: Sequence[State], rough: Movements) -> Budget:
    """What is spent on a problem of which some solutions are known."""
    best = min(found, key=lambda state: _promised(state, rough))
    if not is_short(best, rough.resources):
        return LONG
    return SHORT if len(problem.operations) < MANY else MIDDLE


def _each_counts(state: State) -> bool:
    """Whether each movement of a solution decides."""
    moves = state.price - state.price_at(dict.fromkeys(state.movements, NOTHING))
    return moves >= (NOTABLE if len(state.movements) <= FEW else MOST) * state.price


def _in_rounds(
    own: Searches, known: Sequence[State], movements: Movements, budget: Budget, plan: Plan, both: Both
) -> list[State]:
    """What is found with planned movements: of short programs near what is `known`, of others from the front, at prices
    and with what `known` solutions say of what is wanted where. Searches of one policy win in short programs only."""

    def near(found: Sequence[State]) -> list[State]:
        states = [] if found else own.narrow(movements, both=both)
        return states + own.nearby(movements, [*known, *found, *states], both)

    if budget is SHORT:
        return with_planned(near, duration, movements, plan, budget.rounds, own.traces)
    wanted = own.wanted(known)

    def wide(found: Sequence[State]) -> list[State]:
        return [*chain(*both(lambda: own.narrow(movements), lambda: [own.wide(movements, wanted)]))]

    return with_planned(wide, State.price_at, movements, plan, budget.rounds, own.traces)


def _wide(own: Searches, wanted: Wanted, movements: Movements, both: Both) -> list[State]:
    """What searches find that keep many states, without and with what is wanted."""
    return [*chain(*both(lambda: [own.wide(movements)], lambda: [own.wide(movements, wanted)]))]


def _promised(state: State, movements: Movements) -> float:
    """How long a solution takes, as far as its movements are planned, and roughly otherwise."""
    return duration(state, resources_of(state, movements))


def _shortest(found: Sequence[State], movements: Movements, plan: Plan, budget: Budget) -> list[State]:
    """Those that promise to take least time, in the order of how long they do with planned movements."""
    promised = {id(state): _promised(state, movements) for state in found}
    ordered = sorted(distinct(found), key=lambda state: promised[id(state)])[: budget.planned]
    close = [state for state in ordered if promised[id(state)] <= budget.close * promised[id(ordered[0])]]
    planned: list[State] = []
    for state in close:
        if _planned_while_promising(state, planned, movements, plan):
            planned.append(state)
    planned.sort(key=lambda state: duration(state, movements.exact))
    return _with_the_cheapest(planned, found, movements, plan) if budget is SHORT else planned


def _with_the_cheapest(
    best: Sequence[State], found: Sequence[State], movements: Movements, plan: Plan
) -> list[State]:
    """The solution that is cheapest by its price has a place among those whose programs are compared: durations may be
    wrong by more than prices are."""
    cheapest = min(found, key=lambda state: state.price)
    if len(cheapest.movements) > FEW:
        return list(best)
    movements.learn(cheapest.movements, plan)
    return distinct([*best[: COMPARED - 1], cheapest, *best[COMPARED - 1 :]])


def _planned_while_promising(state: State, planned: Sequence[State], movements: Movements, plan: Plan) -> bool:
    """Plan the movements of a solution. Of many movements only as many are planned as it takes to see that the solution
    is not shorter than what is `planned`: then the answer is False."""
    if len(state.movements) <= FEW or not planned:
        movements.learn(state.movements, plan)
        return True
    least = min(duration(other, movements.exact) for other in planned)
    known = {movement for other in planned for movement in other.movements}
    return learn_while_less(state, partial(_guessed, known=known, movements=movements), least, movements, plan)


def _guessed(state: State, known: Set[Movement], movements: Movements) -> float:
    """How long a solution of many movements takes, if what is not planned is as much cheaper than its rough price as
    the `known` movements are."""
    ratio = sum(movements.exact[m].total for m in known) / max(1.0, sum(m.rough.total for m in known))
    return duration(state, {m: movements.exact.get(m, m.rough * min(1.0, ratio)) for m in state.movements})
