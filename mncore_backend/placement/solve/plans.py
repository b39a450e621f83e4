"""The plans of a product that a search follows: those that promise most, of both kinds."""

from collections.abc import Callable, Mapping

import numpy as np

from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan
from mnc.mncore_backend.placement.cost.ahead import Ahead
from mnc.mncore_backend.placement.cost.plan_table import PricedPlan, divided_by
from mnc.mncore_backend.placement.cost.product_prices import ProductPrices
from mnc.mncore_backend.placement.cost.ranking import PaidLater
from mnc.mncore_backend.placement.problem import Product

ALTERNATIVES = 6
"""Plans of a product that are followed from every state."""
KINDS = 4
"""Plans at most that are followed besides, because their results are divided among the L2Bs by other dimensions."""
SHOWN = 8
"""Plans that are noted as what a chosen one was compared with."""

Pinned = Mapping[int, Callable[[ContractionPlan], bool]]
"""For products whose plan is fixed from outside: whether a plan is the one that is wanted."""


class Plans:
    """The best plans of the products of one problem; they are remembered. `pinned`: those that are fixed from
    outside."""

    def __init__(self, prices: ProductPrices, pinned: Pinned) -> None:
        self._prices, self._wanted = prices, pinned
        self._best: dict[object, tuple[list[PricedPlan], int]] = {}

    def of(self, number: int, op: Product, known: Contraction, later: Ahead) -> tuple[list[PricedPlan], int]:
        """The plans of a product that promise most, together with what windows pay later for its result, and how many
        of them are followed: among these is one whose result all L2Bs have, and one whose result they share, if there
        are such."""
        wanted, ahead = self._wanted.get(number), None
        if later.has_windows(op.result):
            kind = later.policy, later.kind(op.result)
            ahead = PaidLater(kind, lambda layout: later.windows(op.result, layout, number))
        key = None if wanted is None else number, known, None if ahead is None else ahead.kind
        if key not in self._best:
            self._best[key] = self._best_of_kinds(known, ahead) if wanted is None else self._pinned(known, wanted)
        return self._best[key]

    def _pinned(
        self, known: Contraction, wanted: Callable[[ContractionPlan], bool]
    ) -> tuple[list[PricedPlan], int]:
        """The plan that is wanted from outside, or all if it is none of them."""
        best = self._prices.best(known, SHOWN, among=lambda table: np.array([wanted(own.plan) for own in table.priced]))
        return best or self._prices.best(known, SHOWN), ALTERNATIVES

    def _best_of_kinds(self, known: Contraction, ahead: PaidLater | None) -> tuple[list[PricedPlan], int]:
        """The best plans, and how many of them are followed. Behind the cheapest come the best of those whose results
        are divided among the L2Bs by other dimensions, if they cost less than to bring the result of the cheapest to
        where they have theirs. What comes next may pay much for one or the other: data come late from another L2B, and
        a plan that is dearer by a few steps may be all that it costs to have them in each."""
        ranking = self._prices.ranking(known, ahead)
        best = ranking.best(SHOWN)
        followed, rest = best[:ALTERNATIVES], best[ALTERNATIVES:]
        left = ranking.kinds - {divided_by(own.plan.result) for own in followed}
        others = [
            found.priced()
            for found in ranking.best_of_each(left)
            if found.price <= best[0].price + self._prices.moved(best[0].plan.result, found.result)
        ]
        others = sorted(others, key=lambda own: own.price)[:KINDS]
        rest = [own for own in rest if own.plan not in [other.plan for other in others]]
        return [*followed, *others, *rest], ALTERNATIVES + len(others)
