"""What the plans of a product cost, by kinds of work."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappush, heappushpop
from typing import NamedTuple

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
from mnc.mncore_backend.placement.cost.movements import Movement, Movements
from mnc.mncore_backend.placement.cost.weights import WEIGHTS, Kind, Weights
from mnc.mncore_backend.pricing import arrival, reduction

TOO_LARGE = 1e6
"""Steps per long word that does not fit where it should."""


class Part(NamedTuple):
    """Steps of a kind, and what takes them, if it is a movement."""

    kind: Kind
    steps: float
    movement: Movement | None = None


@dataclass(frozen=True)
class PricedPlan:
    """A plan, its steps by kinds, and their weighted sum."""

    plan: ContractionPlan
    parts: Sequence[Part]
    price: float
    weights: Weights

    @cached_property
    def steps(self) -> dict[str, float]:
        """What its price is made of, by kinds."""
        found: dict[str, float] = {}
        for part in self.parts:
            found[part.kind] = found.get(part.kind, 0.0) + self.weights[part.kind] * part.steps
        return found


Counted = dict[object, list[tuple[ContractionPlan, list[Part]]]]
Price = Callable[[ContractionPlan], float]
Wanted = Callable[[ContractionPlan], bool]


class ProductPrices:
    """Prices of plans under the prices of movements that are known by now; they are remembered."""

    def __init__(self, movements: Movements, weights: Weights = WEIGHTS, counted: Counted | None = None) -> None:
        """`counted`: steps of plans that others have counted already, and where to leave those that are counted."""
        self.movements, self.weights = movements, weights
        self._counted: Counted = {} if counted is None else counted
        self._own: dict[object, list[PricedPlan]] = {}
        self._least: dict[Contraction, float] = {}

    def least(self, problem: Contraction) -> float:
        """The price of the cheapest plan."""
        if problem not in self._least:
            self._least[problem] = self.best(problem, 1)[0].price
        return self._least[problem]

    def best(
        self, problem: Contraction, count: int, ahead: Price | None = None, wanted: Wanted | None = None
    ) -> list[PricedPlan]:
        """The cheapest plans of a product, together with what is paid `ahead` for the place of the result, which is not
        part of their prices; of those that are `wanted`, if there are any.

        Plans are looked at in the order of what they cost wherever factors are, and movements only add to that.
        """
        own, moves = self.plans(problem), _Moves(problem, self.movements, self.weights)
        own = [plan for plan in own if wanted(plan.plan)] or own if wanted is not None else own
        found: list[tuple[float, int, PricedPlan]] = []
        for number, priced in enumerate(own):
            if len(found) == count and priced.price >= -found[0][0]:
                break
            price = priced.price + moves.price(priced.plan)
            if len(found) == count and price >= -found[0][0]:
                continue
            total = price + (0.0 if ahead is None else ahead(priced.plan))
            parts = [*priced.parts, *moves.parts(priced.plan)]
            entry = -total, -number, PricedPlan(priced.plan, parts, price, self.weights)
            if len(found) < count:
                heappush(found, entry)
            else:
                heappushpop(found, entry)
        best = [priced for _, _, priced in sorted(found, key=lambda entry: (-entry[0], -entry[1]))]
        return [replace(priced, plan=replace(priced.plan, cost=priced.price)) for priced in best]

    def plans(self, problem: Contraction) -> list[PricedPlan]:
        """Plans with what they cost wherever factors are, the cheapest first; of those with the same layouts there is
        the cheapest."""
        held = [operand.layout for operand in (problem.left, problem.right)]
        alike = any(layout is not None and not layout.selected_bits(Axis.L2B) for layout in held)
        marks = *(layout is None for layout in held), alike
        bare = replace(problem, right=replace(problem.right, layout=None), home=None)
        key = bare, *marks
        if key not in self._own:
            anywhere = replace(bare, left=replace(bare.left, layout=None)), *marks, "anywhere"
            if anywhere not in self._own:
                self._own[anywhere] = self._counted_once(anywhere, problem, general_plans)
            following = self._counted_once(key, problem, plans_where_left_is)
            both = [*self._own[anywhere], *following]
            self._own[key] = sorted(both, key=lambda own: own.price) if following else self._own[anywhere]
        return self._own[key]

    def _counted_once(
        self, key: object, problem: Contraction, plans: Callable[[Contraction], Iterable[Candidate]]
    ) -> list[PricedPlan]:
        if key not in self._counted:
            self._counted[key] = _count(problem, plans(problem))
        return _cheapest(self._counted[key], self.weights)


class _Moves:
    """The movements that plans of one product need. Many plans have a layout of a factor or the result in common, the
    same object, so that a price is found out once."""

    def __init__(self, problem: Contraction, movements: Movements, weights: Weights) -> None:
        self.problem, self.movements, self.weights = problem, movements, weights
        self._prices: tuple[dict[int, float], ...] = {}, {}, {}
        plain = [
            i for i, own in enumerate((problem.left, problem.right)) if own.layout is not None and own.windows is None
        ]
        self._moved = [*plain, 2] if problem.home is not None else plain
        self._has_windows = problem.left.windows is not None and problem.left.layout is not None

    def price(self, plan: ContractionPlan) -> float:
        """The weighted steps of all movements."""
        total = 0.0
        layouts = plan.left, plan.right, plan.result
        for i in self._moved:
            known, layout = self._prices[i], layouts[i]
            price = known.get(id(layout))
            if price is None:
                found = self._relayout(i, layout)
                price = known[id(layout)] = 0.0 if found is None else self.weights["moves"] * found[1]
            total += price
        return total + self.weights["halos"] * self._halos(plan).steps if self._has_windows else total

    def parts(self, plan: ContractionPlan) -> Iterator[Part]:
        """All movements."""
        layouts = plan.left, plan.right, plan.result
        for i in self._moved:
            if (found := self._relayout(i, layouts[i])) is not None:
                yield Part("moves", found[1], found[0])
        if self._has_windows:
            yield self._halos(plan)

    def _relayout(self, number: int, layout: Layout) -> tuple[Movement, float] | None:
        """Between where a factor is, or the result has to be, and where a plan has it."""
        if number == 2:
            assert self.problem.home is not None
            return self.movements.relayout(layout, self.problem.home)
        held = (self.problem.left, self.problem.right)[number].layout
        assert held is not None
        return self.movements.relayout(held, layout)

    def _halos(self, plan: ContractionPlan) -> Part:
        factor = self.problem.left
        assert factor.layout is not None and factor.windows is not None
        digits = tuple(plan.digits.get(d, ()) for d in range(len(self.problem.extents)))
        movement = Movement(factor.layout, plan.left, factor.windows, self.problem.extents, digits)
        return Part("halos", self.movements.steps(movement), movement)


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
        yield Part("sums", reduction(plan.result, partial_bits(problem, plan)).total)
    cut = joint_cut_of(problem, plan)
    factors = (problem.left, plan.left, plan.right), (problem.right, plan.right, plan.left)
    for number, (operand, layout, other) in enumerate(factors):
        if operand.layout is None and operand.kept:
            yield Part("sums", reduction(layout, summed_by_update(layout, other)).total)
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
