"""All operations get their places together, at prices that are exact in the end where that decides.

The search goes by rough prices of movements. In a program of few movements each of them counts, if they make up a part
of its price. So what the solution would move is planned, and it searches again with what that really takes, as long as
a solution promises to be better than the best one. (Searching for shortest paths works the same way where the lengths
of edges are dear to find out.) Over many movements the errors of rough prices level out, and to plan them would take
longer than all the rest, unless they make up most of the price. In long programs they are off by less, since what moves
is large: there the searches are done once, and the best two solutions are compared with planned movements.

Which solution takes least time, a schedule of its operations says (`solve/makespan.py`). Most long programs wait for
units more than for each other, and what they lay out of the chip in between is no part of a solution: these are
compared by sums over their operations (`solve/duration.py`). In long recurrences no unit works for half of the time:
these are compared by schedules, too.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import itemgetter
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
from mnc.mncore_backend.placement.solve.makespan import busiest_share, makespan
from mnc.mncore_backend.placement.solve.plans import Pinned
from mnc.mncore_backend.placement.solve.room import has_room
from mnc.mncore_backend.placement.solve.search import Wanted
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.trace.trace import Traces
from mnc.mncore_backend.pricing import NOTHING, Resources

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

LOOKED_AT = 3
"""Solutions whose movements are planned at most where little effort is made."""
COMPARED = 6
"""Solutions that are compiled where programs are small."""
MANY = 64
"""Operations of a problem from which a short program is searched for like a long one, and near solutions once besides:
in every round that takes half a minute for small recurrences and blocks of transformers."""
BUSY = 0.5
"""Part of the time for which one unit works where units decide, and not what waits for what."""
WORTHWHILE = 24
"""Operations of a problem from which two processes gain time."""

Lasts = Callable[[State, Mapping[Movement, Resources]], float]
"""How long a solution takes whose movements take so much."""


class Budget(NamedTuple):
    """What is spent on a problem.

    Attributes:
        rounds: of searches with planned movements at most.
        planned: solutions at most, of all that searches found, whose movements are all planned to compare them.
        close: factor of the least steps by rough prices from which on a solution is not planned.
    """

    rounds: int
    planned: int
    close: float


LONG, MIDDLE, SHORT = Budget(0, 2, 1.15), Budget(4, 4, 1.15), Budget(2, 8, 1.35)
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
    lasts = duration if budget is LONG and _is_busy(problem, found[0], rough) else partial(makespan, problem)
    if budget is SHORT:
        found += own.by_other_weights(rough, shared)
    else:
        found += _wide(own, own.wanted(found), rough, shared)
    if budget is SHORT or (budget is MIDDLE and effort == "normal"):
        found += own.nearby(rough, found, shared)
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
        best = _least_when_planned(found, lasts, movements, plan)
        best.weigh(WEIGHTS)
        return [best], movements
    if budget.rounds and _each_counts(found[0]):
        own = replace(own, pure=own.pure if budget is SHORT else (), made={})
        found += _in_rounds(own, found, movements, budget, plan, shared)
    best = _shortest(found, lasts, movements, plan, budget)
    for state in best:
        state.weigh(WEIGHTS)  # with room at the same price whatever it was here
    return best, movements


def _least_when_planned(found: Sequence[State], lasts: Lasts, movements: Movements, plan: Plan) -> State:
    """The state that takes least time with planned movements, of the few that promise most while others are not
    planned: a single movement may take many times what its rough price says."""
    planned: list[State] = []
    for _ in range(LOOKED_AT):
        state = min(found, key=lambda own: lasts(own, resources_of(own, movements)))
        if state in planned:
            break
        movements.learn(state.movements, plan)
        planned.append(state)
    return min(planned, key=lambda own: lasts(own, movements.exact))


def _budget(problem: Problem, found: Sequence[State], rough: Movements) -> Budget:
    """What is spent on a problem of which some solutions are known."""
    if not any(is_short(state, rough.resources) for state in found):
        return LONG
    return SHORT if len(problem.operations) < MANY else MIDDLE


def _is_busy(problem: Problem, state: State, rough: Movements) -> bool:
    """Whether a unit works for most of the time that a solution takes."""
    return busiest_share(problem, state, resources_of(state, rough)) >= BUSY


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
        return with_planned(near, partial(makespan, own.problem), movements, plan, budget.rounds, own.traces)
    wanted = own.wanted(known)

    def wide(found: Sequence[State]) -> list[State]:
        return [*chain(*both(lambda: own.narrow(movements), lambda: [own.wide(movements, wanted)]))]

    return with_planned(wide, State.price_at, movements, plan, budget.rounds, own.traces)


def _wide(own: Searches, wanted: Wanted, movements: Movements, both: Both) -> list[State]:
    """What searches find that keep many states, without and with what is wanted."""
    return [*chain(*both(lambda: [own.wide(movements)], lambda: [own.wide(movements, wanted)]))]


def _shortest(
    found: Sequence[State], lasts: Lasts, movements: Movements, plan: Plan, budget: Budget
) -> list[State]:
    """Those that promise to take least time, and the one that does by the law of searches near solutions, in the order
    of how long they do with planned movements."""
    states = [(resources_of(own, movements), own) for own in distinct(found)]
    promised = sorted(((lasts(own, known), own) for known, own in states), key=itemgetter(0))
    _, by_law = min(states, key=lambda own: duration(own[1], own[0]))
    compared = [*promised[: budget.planned - 1], *(own for own in promised[budget.planned - 1 :] if own[1] is by_law)]
    planned: list[tuple[float, State]] = []
    most = budget.close * promised[0][0]
    for steps, state in compared:
        if steps <= most and _planned_while_promising(state, lasts, planned, movements, plan):
            planned.append((lasts(state, movements.exact), state))
    best = [state for _, state in sorted(planned, key=itemgetter(0))]
    return _with_the_cheapest(best, found, movements, plan) if budget is SHORT else best


def _with_the_cheapest(
    best: Sequence[State], found: Sequence[State], movements: Movements, plan: Plan
) -> list[State]:
    """The solution that is cheapest by its price has a place among those whose programs are compared: makespans may be
    wrong by more than prices are."""
    cheapest = min(found, key=lambda state: state.price)
    if len(cheapest.movements) > FEW:
        return list(best)
    movements.learn(cheapest.movements, plan)
    return distinct([*best[: COMPARED - 1], cheapest, *best[COMPARED - 1 :]])


def _planned_while_promising(
    state: State, lasts: Lasts, planned: Sequence[tuple[float, State]], movements: Movements, plan: Plan
) -> bool:
    """Plan the movements of a solution. Of many movements only as many are planned as it takes to see that the solution
    is not shorter than what is `planned`: then the answer is False."""
    if len(state.movements) <= FEW or not planned:
        movements.learn(state.movements, plan)
        return True
    least = min(steps for steps, _ in planned)
    known = {movement for _, other in planned for movement in other.movements}
    guess = partial(_guessed, lasts=lasts, known=known, movements=movements)
    return learn_while_less(state, guess, least, movements, plan)


def _guessed(state: State, lasts: Lasts, known: Set[Movement], movements: Movements) -> float:
    """How long a solution of many movements takes, if what is not planned is as much cheaper than its rough price as
    the `known` movements are."""
    ratio = sum(movements.exact[m].total for m in known) / max(1.0, sum(m.rough.total for m in known))
    return lasts(state, {m: movements.exact.get(m, m.rough * min(1.0, ratio)) for m in state.movements})
