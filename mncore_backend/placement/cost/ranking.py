"""The plans of a product in the order of what they cost where its factors are.

Plans stand in tables in the order of what they cost wherever factors are, and movements and what is paid later only add
to that: so once some are known, those are left out that cost more without. What was found out of a plan is remembered,
because the same plans are compared among all, and among those with results that are divided in one way.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import chain
from math import inf, nan
from typing import NamedTuple

import numpy as np

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.cost.plan_table import Moves, PlanTable, PricedPlan

FIRST = 4
"""So many times the plans that are wanted are compared before others are left out."""
Among = Callable[[PlanTable], np.ndarray]
"""Of each plan of a table whether it comes into question."""


class PaidLater(NamedTuple):
    """What is paid later for where the result of a product is left. Of one `kind` are those who pay the same."""

    kind: Hashable
    price: Callable[[Layout], float]


class Found(NamedTuple):
    """A plan of a table, its price, and that together with what is ahead."""

    total: float
    price: float
    table: "RankedTable"
    place: int

    @property
    def result(self) -> Layout:
        """Where the plan has the result."""
        return self.table.plans.priced[self.place].plan.result

    def priced(self) -> PricedPlan:
        """The plan with its movements."""
        return self.table.moves.added_to(self.table.plans.priced[self.place], self.price)


class RankedTable:
    """The plans of one table. `ahead`: what is paid later for the results of the plans at some places."""

    def __init__(self, plans: PlanTable, moves: Moves, ahead: Callable[[np.ndarray], np.ndarray]) -> None:
        self.plans, self.moves, self._ahead = plans, moves, ahead
        self._prices = np.full(len(plans.priced), nan)
        self._totals = np.full(len(plans.priced), nan)

    def best(self, count: int, among: Among | None) -> Iterator[Found]:
        """The cheapest plans of those that come into question, of equal ones the first."""
        at = np.arange(len(self._totals)) if among is None else np.flatnonzero(among(self.plans))
        first, rest = at[: FIRST * count], at[FIRST * count :]
        totals = self._found_out(first)
        if len(rest):
            most = np.partition(totals, count - 1)[count - 1]
            rest = rest[: np.searchsorted(self.plans.prices[rest], most)]
            at, totals = np.concatenate([first, rest]), np.concatenate([totals, self._found_out(rest, most)])
        for i in np.argsort(totals, kind="stable")[:count].tolist():
            yield self._at(int(at[i]))

    def best_of_each(self, kinds: Collection[int]) -> dict[int, Found]:
        """The cheapest plan with a result that is divided by each of these dimensions, if there is one."""
        kind = self.plans.divided
        is_wanted = np.zeros(1 + max(*kinds, *self.plans.kinds), bool)
        is_wanted[list(kinds)] = True
        wanted = is_wanted[kind]
        first = np.flatnonzero(wanted & (self.plans.place_in_kind < FIRST))
        most = np.full(len(is_wanted), inf)
        np.minimum.at(most, kind[first], self._found_out(first))
        rest = np.flatnonzero(wanted)
        rest = rest[(self.plans.prices[rest] < most[kind[rest]]) & (self.plans.place_in_kind[rest] >= FIRST)]
        at = np.concatenate([first, rest])
        totals = np.concatenate([self._totals[first], self._found_out(rest, most[kind[rest]])])
        best: dict[int, Found] = {}
        for place in at[np.lexsort((at, totals))].tolist():
            if (own := int(kind[place])) not in best:
                best[own] = self._at(place)
        return best

    def _at(self, place: int) -> Found:
        return Found(float(self._totals[place]), float(self._prices[place]), self, place)

    def _found_out(self, at: np.ndarray, most: float | np.ndarray = inf) -> np.ndarray:
        """The totals of the plans at these places; infinite where that is not known, and they cost no less than the
        `most` without what is paid later."""
        new = at[np.isnan(self._prices[at])]
        if len(new):
            self._prices[new] = self.plans.prices[new] + self.moves.prices(self.plans, new)
        new = at[np.isnan(self._totals[at]) & (self._prices[at] < most)]
        if len(new):
            self._totals[new] = self._prices[new] + self._ahead(new)
        totals = self._totals[at]
        return np.where(np.isnan(totals), inf, totals)


class Ranking:
    """All plans of a product where its factors are, by their prices together with what is paid later for the place of
    the result, which is not part of the prices."""

    def __init__(self, tables: Sequence[RankedTable]) -> None:
        self._tables = tables

    @property
    def kinds(self) -> frozenset[int]:
        """By which dimensions results are divided among the L2Bs."""
        return frozenset(chain.from_iterable(table.plans.kinds for table in self._tables))

    def best(self, count: int, among: Among | None = None) -> list[PricedPlan]:
        """The cheapest plans, `among` some perhaps; none if there are none."""
        found = chain.from_iterable(table.best(count, among) for table in self._tables)
        return [own.priced() for own in sorted(found, key=lambda own: own.total)[:count]]

    def best_of_each(self, kinds: Collection[int]) -> list[Found]:
        """The cheapest plan of each kind, in the order of kinds."""
        found = [table.best_of_each(kinds) for table in self._tables] if kinds else []
        return [min((own[kind] for own in found if kind in own), key=lambda own: own.total) for kind in sorted(kinds)]
