"""What the plans of a product cost, by kinds of work."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan

import numpy as np

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan
from mnc.mncore_backend.placement.candidates.candidates import (
    Candidate,
    general_plans,
    partial_bits,
    plans_where_left_is,
)
from mnc.mncore_backend.placement.candidates.costs import (
    kernel_resources,
    summed_by_update,
)
from mnc.mncore_backend.placement.candidates.joint import joint_cut_of
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.candidates.tiles import straddling_steps
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.plan_table import Known, Moves, Part, PlanTable, PricedPlan, filled
from mnc.mncore_backend.placement.cost.ranking import Among, PaidLater, RankedTable, Ranking
from mnc.mncore_backend.placement.cost.weights import WEIGHTS, Weights
from mnc.mncore_backend.pricing import Resources, arrival, reduction, relayout

TOO_LARGE = 1e6
"""Steps per long word that does not fit where it should."""


@dataclass
class Counted:
    """What does not depend on prices of movements: the steps of plans, and tables of them at some weights."""

    plans: dict[object, list[tuple[ContractionPlan, list[Part]]]] = field(default_factory=dict)
    tables: dict[object, PlanTable] = field(default_factory=dict)


class ProductPrices:
    """Prices of plans under the prices of movements that are known by now; they are remembered."""

    def __init__(self, movements: Movements, weights: Weights = WEIGHTS, counted: Counted | None = None) -> None:
        """`counted`: steps of plans that others have counted already, and where to leave those that are counted."""
        self.movements, self.weights = movements, weights
        self._counted = Counted() if counted is None else counted
        self._at = tuple(weights.values())
        self._known: Known = {}
        self._tables: dict[Contraction, list[PlanTable]] = {}
        self._least: dict[Contraction, float] = {}
        self._later: dict[tuple[int, Hashable], np.ndarray] = {}

    def least(self, problem: Contraction) -> float:
        """The price of the cheapest plan."""
        if problem not in self._least:
            self._least[problem] = self.best(problem, 1)[0].price
        return self._least[problem]

    def best(self, problem: Contraction, count: int, among: Among | None = None) -> list[PricedPlan]:
        """The cheapest plans of a product, as `Ranking.best` says."""
        return self.ranking(problem).best(count, among)

    def ranking(self, problem: Contraction, ahead: PaidLater | None = None) -> Ranking:
        """The plans of a product by their prices, together with what is paid `ahead` for the place of the result."""
        moves = Moves(problem, self.movements, self.weights, self._known)
        return Ranking([
            RankedTable(table, moves, partial(self._ahead, table, ahead)) for table in self.tables(problem)
        ])  # fmt: skip

    def moved(self, source: Layout, target: Layout) -> float:
        """The rough price of bringing a tensor from one layout to another."""
        return self.weights["moves"] * relayout(source, target).total

    def _ahead(self, table: PlanTable, later: PaidLater | None, at: np.ndarray) -> np.ndarray:
        """What is paid later for the results of the plans `at` these places of a table."""
        if later is None:
            return np.zeros(len(at))
        layouts, which = table.left_at
        key = table.number, later.kind
        if key not in self._later:
            self._later[key] = np.full(len(layouts), nan)
        return filled(self._later[key], which[at], lambda i: later.price(layouts[i]))

    def tables(self, problem: Contraction) -> list[PlanTable]:
        """Plans with what they cost wherever factors are: in general, and such as follow from where the left is, if
        there are any; of those of one table with the same layouts there is the cheapest."""
        if problem not in self._tables:
            self._tables[problem] = self._tables_of(problem)
        return self._tables[problem]

    def _tables_of(self, problem: Contraction) -> list[PlanTable]:
        held = [operand.layout for operand in (problem.left, problem.right)]
        alike = any(layout is not None and not layout.selected_bits(Axis.L2B) for layout in held)
        marks = *(layout is None for layout in held), alike
        bare = replace(problem, right=replace(problem.right, layout=None), home=None)
        anywhere = replace(bare, left=replace(bare.left, layout=None)), *marks, "anywhere"
        general = self._table(anywhere, problem, general_plans)
        following = self._table((bare, *marks), problem, plans_where_left_is)
        return [table for table in (general, following) if table.priced]

    def _table(
        self, key: object, problem: Contraction, plans: Callable[[Contraction], Iterable[Candidate]]
    ) -> PlanTable:
        tables, counted, at_weights = self._counted.tables, self._counted.plans, (key, self._at)
        if at_weights not in tables:
            if key not in counted:
                counted[key] = _count(problem, plans(problem))
            tables[at_weights] = PlanTable(len(tables), _cheapest(counted[key], self.weights))
        return tables[at_weights]


def _count(problem: Contraction, plans: Iterable[Candidate]) -> list[tuple[ContractionPlan, list[Part]]]:
    """Plans with their steps, but for those of movements."""
    return [(plan, list(_own_parts(problem, plan, counts))) for plan, counts in plans]


def _cheapest(plans: Iterable[tuple[ContractionPlan, Sequence[Part]]], weights: Weights) -> list[PricedPlan]:
    """Plans without their movements, the cheapest first, and of those with the same layouts the cheapest."""
    found: dict[tuple[Layout, Layout, Layout], PricedPlan] = {}
    for plan, parts in plans:
        price = sum(weights[part.kind] * part.steps for part in parts)
        key = plan.left, plan.right, plan.result
        if key not in found or price < found[key].price:
            found[key] = PricedPlan(plan, parts, price, weights)
    return sorted(found.values(), key=lambda priced: priced.price)


def _own_parts(problem: Contraction, plan: ContractionPlan, counts: dict[str, int]) -> Iterator[Part]:
    kernel = kernel_resources(counts, problem.precision)
    yield Part("kernel", max(kernel.mau, kernel.alu))
    yield Part("second", min(kernel.mau, kernel.alu))
    if plan.partial:
        yield from _summed(reduction(plan.result, partial_bits(problem, plan)))
    cut = joint_cut_of(problem, plan)
    factors = (problem.left, plan.left, plan.right), (problem.right, plan.right, plan.left)
    for number, (operand, layout, other) in enumerate(factors):
        if operand.layout is None and operand.kept:
            yield from _summed(reduction(layout, summed_by_update(layout, other)))
        elif operand.layout is None and operand.resident:
            yield Part("held", layout.local_size * plan.arriving(number))
        elif operand.layout is None:
            coming = arrival(layout) * plan.arriving(number)
            yield Part("arrival", coming.l2bm + coming.l1bm)
            yield Part("fetched", coming.mv)
        if cut is not None:
            yield Part("moves", TOO_LARGE * max(0, min(layout.local_size, cut.held) - half_memory()))
        elif not operand.in_parts:
            yield Part("moves", TOO_LARGE * max(0, layout.local_size - half_memory()))
    following = {problem.result.index(d): following for d, (following, _) in problem.strides.items()}
    yield Part("halos", straddling_steps(plan.result, following))
    yield Part("moves", TOO_LARGE * max(0, plan.result.local_size - half_memory()))


def _summed(sums: Resources) -> Iterator[Part]:
    """What sums take, in steps of their kinds."""
    yield Part("sums", sums.work)
    yield Part("exchanged", sums.exchanged)
