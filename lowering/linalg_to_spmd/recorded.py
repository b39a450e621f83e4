"""Decisions about layouts, for reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.decisions import choose, fixed
from mnc.core.recording import Candidate, decided
from mnc.mncore_backend.placement.candidates.contraction import Compared, ContractionPlan


def describe(plan: ContractionPlan) -> str:
    """A plan in one line."""
    which = "left" if plan.swapped else "right"
    sums = f", summed over {', '.join(axis.name for axis in plan.partial)}" if plan.partial else ""
    return f"{plan.left} x {plan.right} -> {plan.result}, {which} factor as matrix{sums}"


def decide_plan(op: Any, plans: Sequence[ContractionPlan]) -> int:
    """The first of the plans of a contraction, unless another one is fixed."""
    return choose("layout", op, [describe(plan) for plan in plans])


@dataclass(frozen=True)
class FixedPlan:
    """Whether a plan is the one with this description. Equal descriptions are equal questions."""

    text: str

    def __call__(self, plan: ContractionPlan) -> bool:
        return describe(plan) == self.text


def pinned_plans(operations: Sequence[Any]) -> dict[int, FixedPlan]:
    """For operations whose plan is fixed from outside: whether a plan is that one."""
    wanted = ((number, fixed("layout", op)) for number, op in enumerate(operations))
    return {number: FixedPlan(text) for number, text in wanted if text is not None}


def record_plans(op: Any, compared: Sequence[Compared]) -> None:
    """Keep the plans that were compared for a contraction, the one that was taken first."""
    named: dict[str, Candidate] = {}
    for plan, parts in compared:
        named.setdefault(describe(plan), Candidate(describe(plan), plan.cost, parts))
    cheapest = min(plan.cost for plan, _ in compared)
    first = compared[0][0]
    reason = "the cheapest" if first.cost <= cheapest else "the cheapest together with what reads its result"
    decided("layout", op, named.values(), describe(first), reason)
