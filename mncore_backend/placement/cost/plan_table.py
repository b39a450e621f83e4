"""The plans of a product as a table: thousands of them are compared at once, by what they cost and what has to move.

A product has some hundred plans, and a search asks for the best of them wherever its factors are. What a plan costs
wherever they are stands in the table. Many plans have a layout of a factor or of the result in common, so that the
price of bringing it there is found out once for all of them, and is remembered.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import nan
from typing import NamedTuple

import numpy as np

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan
from mnc.mncore_backend.placement.candidates.space import scattered
from mnc.mncore_backend.placement.cost.movements import Movement, Movements
from mnc.mncore_backend.placement.cost.weights import Kind, Weights

RESULT = 2
"""Number of the result, behind those of the factors."""
TILES = 3
"""Number of the tiles of the left factor, which each plan has of its own."""


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


def divided_by(layout: Layout) -> int:
    """The dimensions of which L2Bs have different parts, as the sum of 2 to the power of their numbers."""
    return sum(1 << d for d in {own.dim for own in layout.fields if own.axis is Axis.L2B and own.size > 1})


Known = dict[tuple[int, int, Layout], np.ndarray]
"""What movements cost by the number of a table, of a factor and where that is, for each layout that plans have for
it."""


class PlanTable:
    """Plans with what they cost wherever factors are, the cheapest first. No two tables have the same `number`."""

    def __init__(self, number: int, priced: Sequence[PricedPlan]) -> None:
        self.number, self.priced = number, priced
        self.prices = np.array([own.price for own in priced])

    @cached_property
    def divided(self) -> np.ndarray:
        """Of each plan the dimensions of the result of which L2Bs have different parts, as `divided_by` says."""
        return np.array([divided_by(own.plan.result) for own in self.priced], int)

    @cached_property
    def kinds(self) -> frozenset[int]:
        """All that are in `divided`."""
        return frozenset(self.divided.tolist())

    @cached_property
    def place_in_kind(self) -> np.ndarray:
        """Of each plan how many there are before it with results that are divided by the same dimensions."""
        before: dict[int, int] = {}
        places = []
        for kind in self.divided.tolist():
            places.append(before.setdefault(kind, 0))
            before[kind] += 1
        return np.array(places, int)

    @cached_property
    def left_at(self) -> tuple[list[Layout], np.ndarray]:
        """Where results are left, and of each plan which of these: each PE keeps its share of a sum that it gets."""
        return _numbered([scattered(own.plan.result) if own.plan.partial else own.plan.result for own in self.priced])

    @cached_property
    def layouts(self) -> tuple[tuple[list[Layout], np.ndarray], ...]:
        """Of the factors and the result: all layouts that plans have for it, and of each plan which."""
        columns = zip(*((own.plan.left, own.plan.right, own.plan.result) for own in self.priced), strict=True)
        return tuple(_numbered(column) for column in columns)


def _numbered(column: Sequence[Layout]) -> tuple[list[Layout], np.ndarray]:
    numbers: dict[Layout, int] = {}
    which = np.array([numbers.setdefault(layout, len(numbers)) for layout in column])
    return list(numbers), which


def filled(known: np.ndarray, which: np.ndarray, price: Callable[[int], float]) -> np.ndarray:
    """Prices with these numbers, found out where they are not known yet."""
    found = known[which]
    missing = np.isnan(found)
    if missing.any():
        for i in dict.fromkeys(which[missing].tolist()):
            known[i] = price(i)
        found = known[which]
    return found


class Moves:
    """The movements that plans of one product need where its factors are. `known`: what is known about others."""

    def __init__(self, problem: Contraction, movements: Movements, weights: Weights, known: Known) -> None:
        self.problem, self.movements, self.weights, self.known = problem, movements, weights, known
        factors = problem.left, problem.right
        self._held = [(i, own.layout) for i, own in enumerate(factors) if own.layout and own.windows is None]
        if problem.home is not None:
            self._held.append((RESULT, problem.home))
        self._tiled = problem.left.layout if problem.left.windows is not None else None

    def prices(self, table: PlanTable, at: np.ndarray) -> np.ndarray:
        """The weighted steps of all movements of the plans `at` these places of a table."""
        total = np.zeros(len(at))
        for i, held in self._held:
            layouts, which = table.layouts[i]
            known = self._known(table, i, held, len(layouts))
            total += filled(known, which[at], partial(self._moved, i, held, layouts))
        if self._tiled is not None:
            known = self._known(table, TILES, self._tiled, len(table.priced))
            total += filled(known, at, partial(self._tiles, table.priced))
        return total

    def _known(self, table: PlanTable, number: int, held: Layout, count: int) -> np.ndarray:
        key = table.number, number, held
        if key not in self.known:
            self.known[key] = np.full(count, nan)
        return self.known[key]

    def parts(self, plan: ContractionPlan) -> Iterator[Part]:
        """All movements of a plan."""
        layouts = plan.left, plan.right, plan.result
        for i, held in self._held:
            if (found := self._relayout(i, held, layouts[i])) is not None:
                yield Part("moves", found[1], found[0])
        if self._tiled is not None:
            yield self._halos(plan)

    def added_to(self, priced: PricedPlan, price: float) -> PricedPlan:
        """A plan of a table with all its movements, and its price with these."""
        plan = replace(priced.plan, cost=price)
        return PricedPlan(plan, [*priced.parts, *self.parts(priced.plan)], price, self.weights)

    def _tiles(self, priced: Sequence[PricedPlan], plan: int) -> float:
        return self.weights["halos"] * self._halos(priced[plan].plan).steps

    def _moved(self, number: int, held: Layout, layouts: Sequence[Layout], layout: int) -> float:
        found = self._relayout(number, held, layouts[layout])
        return 0.0 if found is None else self.weights["moves"] * found[1]

    def _relayout(self, number: int, held: Layout, layout: Layout) -> tuple[Movement, float] | None:
        """Between where a factor is, or the result has to be, and where a plan has it."""
        if number == RESULT:
            return self.movements.relayout(layout, held)
        return self.movements.relayout(held, layout)

    def _halos(self, plan: ContractionPlan) -> Part:
        factor = self.problem.left
        assert factor.layout is not None and factor.windows is not None
        movement = Movement(factor.layout, plan.left, factor.windows, self.problem.extents, plan.all_digits)
        return Part("halos", self.movements.steps(movement), movement)
