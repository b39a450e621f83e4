"""Decisions about layouts, for reports."""

from collections.abc import Callable, Sequence
from typing import Any

from mnc.core.decisions import choose
from mnc.core.recording import Candidate, current_recording, decided
from mnc.mncore_backend.distribution.contraction import ContractionPlan, Watch


def describe(plan: ContractionPlan) -> str:
    """A plan in one line."""
    which = "left" if plan.swapped else "right"
    sums = f", summed over {', '.join(axis.name for axis in plan.partial)}" if plan.partial else ""
    return f"{plan.left} x {plan.right} -> {plan.result}, {which} factor as matrix{sums}"


def decide_plan(op: Any) -> Callable[[Sequence[ContractionPlan]], int]:
    """Takes the first of the plans of a contraction, unless another one is fixed."""
    return lambda plans: choose("layout", op, [describe(plan) for plan in plans])


def watch_plans(op: Any) -> Watch | None:
    """Keeps the plans that were compared for a contraction; None when nobody records."""
    if current_recording() is None:
        return None

    def watch(plans: Sequence[tuple[ContractionPlan, dict[str, float]]]) -> None:
        named: dict[str, Candidate] = {}
        for plan, parts in plans:
            named.setdefault(describe(plan), Candidate(describe(plan), plan.cost, parts))
        cheapest = min(plan.cost for plan, _ in plans)
        reason = "the cheapest" if plans[0][0].cost <= cheapest else "the cheapest together with what reads its result"
        decided("layout", op, named.values(), describe(plans[0][0]), reason)

    return watch
