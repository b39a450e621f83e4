"""Why a solution is what it is: of every operation the candidates, their prices, and why all but one were not taken.

Searches leave trails (`trail.py`). Here the way of a solution is gone once more: every choice that each of its
operations had is followed by one step, so that what it adds is known by kinds of work. What became of it afterwards is
in the trail. `docs/placement-trace.schema.json` describes what becomes of it as JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf, isfinite
from typing import Literal

from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.product_prices import TOO_LARGE
from mnc.mncore_backend.placement.cost.weights import WEIGHTS, Kind, Weights
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.solve.plans import SHOWN
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import Placed, State
from mnc.mncore_backend.placement.solve.trail import Fate, Met, Trail
from mnc.mncore_backend.pricing import Resources

Outcome = Literal["chosen", "kept", "merged", "dropped", "not followed"]
"""What became of a candidate at its operation: *chosen*; *kept* among the states that went on, and dearer in the end
or given up later; *merged* with a cheaper state in which everything that is read later lies alike; *dropped* as too
dear; *not followed*, because enough plans were cheaper at once, or the operation did what it did a layer before."""
KINDS = tuple(WEIGHTS)


@dataclass(frozen=True)
class Moved:
    """A movement on the chip that a candidate makes necessary, with the steps that the search reckoned for it."""

    movement: Movement
    steps: float


@dataclass(frozen=True)
class Candidate:
    """Something that an operation could have done in the state in which the solution had come to it.

    Attributes:
        policy: a policy that leads to it.
        placed: by number of operation what it places: this one, unless it waits, and others that had waited.
        steps: what it adds, by kind of steps.
        moved: movements in them.
        adds: these steps with their weights.
        outcome: what became of it.
        over: how much dearer it was than what was preferred to it: the cheaper state with which it was merged, the
            last state that was kept, the cheapest candidate that was followed.
        complete: the best price of a solution that has it, as far as one was found.
        given_up: where none was found: the last operation that a state with it came to, and how much it ranked above
            the last state that was kept there.
        has_room: whether what it needs fits into local memory.
    """

    policy: Policy
    placed: Mapping[int, Placed]
    steps: Mapping[Kind, float]
    moved: tuple[Moved, ...]
    adds: float
    outcome: Outcome
    over: float = 0.0
    complete: float | None = None
    given_up: tuple[int, float] | None = None
    has_room: bool = True


@dataclass(frozen=True)
class Decision:
    """What was decided about one operation.

    Attributes:
        candidates: the chosen one first, then the others by the price of the best solution with each, then those that
            came to no solution.
        met, merged, dropped, kept: how many states the operation led to, from all states before, and their outcomes.
        plans, roomless: of a product: plans that were priced in the state of the solution, and those without room.
    """

    number: int
    candidates: tuple[Candidate, ...]
    met: int
    merged: int
    dropped: int
    kept: int
    plans: int = 0
    roomless: int = 0


@dataclass(frozen=True)
class Searched:
    """One search: in which round, among which policies, with how many states, the price of what it found by the prices
    of movements that were known, and whether no state was given up. `is_timed`: states were compared by durations, and
    prices are such. `how`: a beam, or one operation after the other."""

    round: int
    policies: tuple[Policy, ...]
    weights: Weights
    width: int
    price: float
    found: State
    decisions: tuple[Decision, ...]
    is_best: bool
    is_timed: bool = False
    how: Literal["beam", "in order"] = "beam"


@dataclass
class Traces:
    """A tracer that keeps all searches. Who searches several times sets the `round`, and which movements were
    `planned` with what they take by the end; the first round knows rough prices only."""

    searches: list[Searched] = field(default_factory=list)
    round: int = 0
    planned: Mapping[Movement, Resources] = field(default_factory=dict)

    def searched(self, search: Search, trail: Trail, beam: Sequence[State], best: State) -> None:
        """Keep what a search has met on the way to the best state."""
        position = next(i for i, state in enumerate(beam) if state is best)
        policies, width = tuple(products.rules.policy for products in search.followed), search.width
        decisions = tuple(_decisions(search, trail, position, [state.price for state in beam]))
        dropped = any(decision.dropped for decision in decisions)
        self.searches.append(
            Searched(
                self.round, policies, search.weights, width, best.price, best, decisions, not dropped,
                is_timed=search.law is not None,
            )
        )  # fmt: skip

    def of(self, state: State) -> Searched:
        """The search that found a state."""
        return next(own for own in self.searches if own.found is state)


def in_order(problem: Problem, policy: Policy, state: State) -> Traces:
    """What was compared for a solution in which one operation was placed after the other: the plans of products, by
    estimates of their own, which have no weights."""
    decisions = tuple(_in_order(problem, policy, state, number) for number in range(len(problem.operations)))
    weights: Weights = dict.fromkeys(("kernel", "sums", "moves"), 1.0)
    return Traces([Searched(0, (policy,), weights, 1, state.price, state, decisions, False, how="in order")])


def _in_order(problem: Problem, policy: Policy, state: State, number: int) -> Decision:
    plans = state.compared.get(number, [])
    placed = {number: state.placed[number]} if number in state.placed else {}
    if not plans:
        return Decision(number, (Candidate(policy, placed, {}, (), 0.0, "chosen", complete=state.price),), 1, 0, 0, 1)
    found: list[Candidate] = []
    for i, (plan, parts) in enumerate(plans):
        steps: dict[Kind, float] = dict(zip(("kernel", "sums", "moves"), parts.values(), strict=True))
        own = placed if i == 0 else {number: Placed((plan.left, plan.right), plan.result, plan.swapped)}
        over, outcome = plan.cost - plans[0][0].cost, "not followed" if i else "chosen"
        candidate = Candidate(policy, own, steps, (), plan.cost, outcome, over, has_room=_has_room(plan.cost))
        found.append(candidate if i else replace(candidate, complete=state.price))
    return Decision(number, tuple(sorted(found, key=_order)), len(found), 0, len(found) - 1, 1, plans=len(found))


def _decisions(search: Search, trail: Trail, position: int, prices: Sequence[float]) -> Iterator[Decision]:
    state = State(dict(search.problem.placed), weights=search.weights)
    fates, path = trail.fates(prices), trail.path(position)
    for number, taken in enumerate(path):
        step, plans = trail.steps[number], search.priced(state, number)
        found, then = _candidates(search, state, number, step, taken, fates[number])
        dropped = len(step.holders) - len(step.kept)
        yield Decision(
            number,
            tuple(sorted(found, key=_order)),
            met=len(step.prices),
            merged=len(step.prices) - len(step.holders),
            dropped=dropped,
            kept=len(step.kept),
            plans=len(plans),
            roomless=sum(not _has_room(plan.price) for plan in plans),
        )
        state = then


def _order(candidate: Candidate) -> tuple[bool, bool, float]:
    price = candidate.adds if candidate.complete is None else candidate.complete
    return candidate.outcome != "chosen", candidate.complete is None, price


def _candidates(
    search: Search, state: State, number: int, step: Met, taken: int, fates: Sequence[Fate]
) -> tuple[list[Candidate], State]:
    """The candidates of an operation in the state of the solution, and the state to which the chosen one leads."""
    beside = {step.ways[i]: i for i, parent in enumerate(step.parents) if parent == step.parents[taken]}
    ways = list(search.ways(state, number, search.problem.operations[number], SHOWN))
    followed = [way for way in ways if way.is_followed]
    found, others, cheapest, then = [], [], inf, state
    for way in ways:
        new = search.follow(state, number, way)
        adds = search.added(state, new)
        i = beside.get(followed.index(way)) if way.is_followed else None
        if i is None:
            others.append(_candidate(way.policy, state, new, adds, "not followed"))
            continue
        cheapest = min(cheapest, adds)
        if i == taken:
            then = new
        outcome = "chosen" if i == taken else "kept" if i in step.kept else "dropped"
        found.append(_with_fate(_candidate(way.policy, state, new, adds, outcome), fates[i]))
    return [*found, *(replace(own, over=own.adds - cheapest) for own in others)], then


def _with_fate(candidate: Candidate, fate: Fate) -> Candidate:
    """What the trail says about a candidate that was followed."""
    outcome, over = candidate.outcome, 0.0
    if fate.alike is not None:
        outcome, over = "merged", fate.alike
    elif outcome == "dropped" and fate.end is not None:
        over = fate.end.over
    given_up = fate.end if candidate.outcome != "chosen" and not isfinite(fate.complete) else None
    complete = fate.complete if isfinite(fate.complete) else None
    return replace(candidate, outcome=outcome, over=over, complete=complete, given_up=given_up)


def _candidate(
    policy: Policy, before: State, after: State, adds: float, outcome: Outcome
) -> Candidate:
    steps, moved = _added(before, after)
    placed = dict(islice(after.placed.items(), len(before.placed), None))
    return Candidate(policy, placed, steps, moved, adds, outcome, has_room=_has_room(adds))


def _added(before: State, after: State) -> tuple[dict[Kind, float], tuple[Moved, ...]]:
    """Steps that a state has paid for and the one before has not, by kinds, and movements among them."""
    steps: dict[Kind, float] = {}
    moved: list[Moved] = []
    entry = after.paid
    while entry is not None and entry is not before.paid:
        _, kind, own, movement, entry = entry
        steps[kind] = steps.get(kind, 0.0) + own
        if movement is not None:
            moved.append(Moved(movement, own))
    return {kind: steps[kind] for kind in KINDS if kind in steps}, tuple(reversed(moved))


def _has_room(price: float) -> bool:
    return price < WEIGHTS["moves"] * TOO_LARGE
