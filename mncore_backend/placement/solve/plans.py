"""The plans of a product that a search follows: those that promise most, of both kinds."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan
from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.candidates.space import scattered
from mnc.mncore_backend.placement.cost.ahead import Ahead
from mnc.mncore_backend.placement.cost.plan_table import PricedPlan
from mnc.mncore_backend.placement.cost.product_prices import Price, ProductPrices
from mnc.mncore_backend.placement.problem import Product

ALTERNATIVES = 6
"""Plans of a product that are followed from every state."""
MUCH = 2.0
"""Factor of the price of the cheapest plan up to which one of another kind is followed besides: more states than these
crowd out better ones."""
ANY = -1
"""Number in place of that of a product whose number does not matter."""
SHOWN = 8
"""Plans that are noted as what a chosen one was compared with."""

Pinned = Mapping[int, Callable[[ContractionPlan], bool]]
"""For products whose plan is fixed from outside: whether a plan is the one that is wanted."""


class Plans:
    """The best plans of the products of one problem; they are remembered. `pinned`: those that are fixed from
    outside."""

    def __init__(self, prices: ProductPrices, pinned: Pinned) -> None:
        self._prices, self._wanted = prices, pinned
        self._best: dict[tuple[int, Contraction, Policy | None], tuple[list[PricedPlan], int]] = {}

    def of(self, number: int, op: Product, known: Contraction, later: Ahead) -> tuple[list[PricedPlan], int]:
        """The plans of a product that promise most, together with what windows pay later for its result, and how many
        of them are followed: among these is one whose result all L2Bs have, and one whose result they share, if there
        are such."""
        wanted, has_windows = self._wanted.get(number), later.has_windows(op.result)
        key = number if has_windows or wanted is not None else ANY, known, later.policy if has_windows else None
        if key not in self._best:
            ahead = partial(_paid_later, later, op.result, number) if has_windows else None
            self._best[key] = self._best_two_kinds(known, ahead) if wanted is None else self._pinned(known, wanted)
        return self._best[key]

    def _pinned(
        self, known: Contraction, wanted: Callable[[ContractionPlan], bool]
    ) -> tuple[list[PricedPlan], int]:
        """The plan that is wanted from outside, or all if it is none of them."""
        best = self._prices.best(known, SHOWN, among=lambda table: np.array([wanted(own.plan) for own in table.priced]))
        return best or self._prices.best(known, SHOWN), ALTERNATIVES

    def _best_two_kinds(self, known: Contraction, ahead: Price | None) -> tuple[list[PricedPlan], int]:
        """The best plans, and how many of them are followed. Where all plans that are followed have a result that L2Bs
        share, or all one that each has, there is the best plan of the other kind behind them, if it is not much dearer.
        What comes next may pay much for one or the other: data come late from another L2B, and a plan that is dearer by
        a few steps may be all that it costs to have them in each."""
        best = self._prices.best(known, SHOWN, ahead)
        followed, rest = best[:ALTERNATIVES], best[ALTERNATIVES:]
        kinds = {_is_divided(own.plan) for own in followed}
        if len(kinds) > 1:
            return best, ALTERNATIVES
        (kind,), most = kinds, MUCH * best[0].price
        found = self._prices.best(known, 1, ahead, lambda table: table.divided != kind)
        others = [other for other in found if other.price <= most]
        rest = [own for own in rest if own.plan not in [other.plan for other in others]]
        return [*followed, *others, *rest], ALTERNATIVES + len(others)


def _paid_later(later: Ahead, result: int, number: int, plan: ContractionPlan) -> float:
    """What windows pay later for where a plan has its result."""
    return later.windows(result, scattered(plan.result) if plan.partial else plan.result, number)


def _is_divided(plan: ContractionPlan) -> bool:
    """Whether L2Bs have different parts of the result."""
    return plan.result.selected_bits(Axis.L2B) != 0
