"""Traces of decisions as JSON, which `docs/placement-trace.schema.json` describes."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnc.mncore_backend.placement.candidates.policy import Policy, preferences_of
from mnc.mncore_backend.placement.problem import Problem, Product
from mnc.mncore_backend.placement.solve.makespan import makespan
from mnc.mncore_backend.placement.solve.state import Placed, State
from mnc.mncore_backend.placement.trace.trace import Candidate, Decision, Moved, Searched, Traces
from mnc.mncore_backend.target import chip

FORMAT = "mnc placement trace"
VERSION = 2
PLAIN = "plain"
_DIGITS = 3


def trace_json(problem: Problem, solutions: Sequence[State], traces: Traces, place: int = 0) -> dict[str, Any]:
    """What `json.dump` takes: the decisions that led to the solution at this place, and what else was found."""
    taken = traces.of(solutions[place])
    return {
        "format": FORMAT,
        "version": VERSION,
        "machine": chip().name,
        "weights": dict(taken.weights),
        "is_timed": taken.is_timed,
        "price": _round(taken.price),
        "solutions": [_solution(problem, state, traces, state is taken.found) for state in solutions],
        "searches": [_search(own, own is taken) for own in traces.searches],
        "operations": [_operation(problem, taken, decision, traces) for decision in taken.decisions],
        "stored": _stored(problem, taken),
    }


def _round(number: float) -> float:
    return round(number, _DIGITS)


def _name(policy: Policy) -> str:
    return ", ".join(preferences_of(policy)) or PLAIN


def _solution(problem: Problem, state: State, traces: Traces, is_taken: bool) -> dict[str, Any]:
    own, planned = traces.of(state), {}
    if own.how == "beam" and all(movement in traces.planned for movement in state.movements):
        prices = state.price_at(traces.planned), makespan(problem, state, traces.planned)
        planned = {"planned_price": _round(prices[0]), "duration": _round(prices[1])}
    return {"round": own.round, "price": _round(own.price), **planned, "is_chosen": is_taken}


def _search(own: Searched, is_taken: bool) -> dict[str, Any]:
    return {
        "how": own.how,
        "round": own.round,
        "policies": [_name(policy) for policy in own.policies],
        "weights": dict(own.weights),
        "is_timed": own.is_timed,
        "width": own.width,
        "price": _round(own.price),
        "is_best": own.is_best,
        "is_chosen": is_taken,
    }


def _operation(problem: Problem, taken: Searched, decision: Decision, traces: Traces) -> dict[str, Any]:
    number, op = decision.number, problem.operations[decision.number]
    placed, layout = taken.found.placed.get(number), taken.found.layouts.get(op.result)
    with_others = [other.number for other in taken.decisions if number in other.candidates[0].placed]
    priced = {"plans": decision.plans, "plans_without_room": decision.roomless} if isinstance(op, Product) else {}
    return {
        "number": number,
        "name": op.name,
        "kind": type(op).__name__.lower(),
        "shape": list(problem.tensors[op.result].shape),
        "result": None if layout is None else str(layout),
        "placed": None if placed is None else _placed(problem, number, placed),
        "placed_with": None if placed is None else (with_others or [len(problem.operations)])[0],
        "states": {
            "met": decision.met, "merged": decision.merged, "dropped": decision.dropped, "kept": decision.kept
        },
        **priced,
        "candidates": [_candidate(problem, own, taken.price, traces) for own in decision.candidates],
    }  # fmt: skip


def _placed(problem: Problem, number: int, placed: Placed) -> dict[str, Any]:
    op = problem.operations[number]
    found: dict[str, Any] = {
        "operation": number,
        "name": op.name,
        "operands": [None if layout is None else str(layout) for layout in placed.operands],
        "result": str(placed.result),
    }
    if isinstance(op, Product):
        found["matrix"] = "left" if placed.swapped else "right"
    if placed.partial is not None:
        found["partial_sums"] = str(placed.partial)
    if placed.parts is not None:
        found["parts"] = {"factor": placed.parts[0], "long_words": placed.parts[1]}
    return found


def _candidate(problem: Problem, own: Candidate, price: float, traces: Traces) -> dict[str, Any]:
    found: dict[str, Any] = {
        "outcome": own.outcome,
        "policy": _name(own.policy),
        "placed": [_placed(problem, number, placed) for number, placed in own.placed.items()],
        "steps": _steps(own.steps),
        "adds": _round(own.adds),
        "movements": [_moved(moved, traces) for moved in own.moved],
        "has_room": own.has_room,
    }
    if own.outcome in ("merged", "dropped", "not followed"):
        found["over"] = _round(own.over)
    if own.complete is not None:
        found |= {"complete": _round(own.complete), "behind": _round(own.complete - price)}
    if own.given_up is not None:
        number, over = own.given_up
        found["given_up"] = {"operation": number, "name": problem.operations[number].name, "over": _round(over)}
    return found


def _steps(steps: Mapping[Any, float]) -> dict[str, float]:
    return {str(kind): _round(own) for kind, own in steps.items()}


def _moved(moved: Moved, traces: Traces) -> dict[str, Any]:
    movement = moved.movement
    kind = "tiles" if movement.windows is not None else "move"
    if kind == "move" and movement.source.shape != movement.target.shape:
        kind = "reshape"
    known = traces.planned.get(movement)
    planned = {} if known is None else {"planned": _round(known.total)}
    ends = {"from": str(movement.source), "to": str(movement.target)}
    return {"kind": kind, **ends, "steps": _round(moved.steps), **planned}


def _stored(problem: Problem, taken: Searched) -> dict[str, Any]:
    """What is paid at the end: results on their way to DRAM, and what nobody had wanted before."""
    own = taken.found.bill.get(len(problem.operations), {})
    return {"steps": _steps(own), "adds": _round(sum(taken.weights[kind] * steps for kind, steps in own.items()))}
