"""Prices of movements: rough for all that come into question, exact for those that a solution would make.

To plan a movement takes long, and a search looks at thousands of them. So it goes by rough prices first; what its
solution would move is planned, and the search is done again with what that really takes, until it chooses nothing
whose price is only rough.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement.ahead import Request
from mnc.mncore_backend.movement.estimate import Cost
from mnc.mncore_backend.placement.candidates import Box, Digits, Windows, oriented, same_places, source_layout, tile
from mnc.mncore_backend.pricing import NOTHING, Resources, joining, relayout, reshaping, tiling
from mnc.mncore_backend.target import cached_per_machine

Plan = Callable[[list[Request]], object]


@dataclass(frozen=True)
class Movement:
    """From one layout to another: of the same tensor, of the tensor in another shape, to tiles of it, or to a tensor
    that takes a part of it.

    Attributes:
        windows, extents, digits: of the loops that read tiles.
        box: what is taken.
    """

    source: Layout
    target: Layout
    windows: Windows | None = None
    extents: tuple[int, ...] = ()
    digits: tuple[Digits, ...] = ()
    box: Box | None = None

    def requests(self) -> list[Request]:
        """What the planner is asked for."""
        if self.box is not None:
            return [Request(self.source, self.target, self.box.index_map(self.source.shape, self.target.shape), None)]
        if self.windows is None:
            if self.source.shape == self.target.shape:
                return [Request(self.source, self.target)]
            return [Request(self.source, self.target, np.arange(prod(self.source.shape)), 0)]
        tiles = tile(self.windows, self.extents, self.digits, self.source.shape)
        places = source_layout(self.windows, self.digits, self.source.shape)
        if places is None or same_places(places, self.source):
            return [Request(self.source, tiles.layout, tiles.index_map, 0, fills=True)]
        return [Request(self.source, places), Request(places, tiles.layout, tiles.index_map, 0, fills=True)]

    @cached_property
    def rough(self) -> Resources:
        """What it takes, roughly."""
        if self.windows is not None:
            return _tiled(self.windows, self.extents, self.digits, self.source, self.target)
        if self.box is not None:
            return joining(self.source, self.target, self.box)
        if self.source.shape != self.target.shape:
            return reshaping(self.source, self.target)
        return relayout(self.source, self.target)


@cached_per_machine(1 << 14)
def _tiled(
    windows: Windows, extents: tuple[int, ...], digits: tuple[Digits, ...], source: Layout, target: Layout
) -> Resources:
    """What tiles take, roughly: the same are asked for by the plans of a product and by what looks ahead to it."""
    windows = oriented(windows, digits)
    return tiling(windows, extents, digits, source, source_layout(windows, digits, source.shape), target)


class Movements:
    """Prices of movements, as far as they are known by now. `hope`: part of a rough price that is taken otherwise."""

    def __init__(self, hope: float = 1.0) -> None:
        self.hope = hope
        self.exact: dict[Movement, Resources] = {}
        self._relayouts: dict[tuple[Layout, Layout], tuple[Movement, float] | None] = {}

    def steps(self, movement: Movement) -> float:
        """The exact price, or a hopeful one."""
        known = self.exact.get(movement)
        return self.hope * movement.rough.total if known is None else known.total

    def resources(self, movement: Movement) -> Resources:
        """What it takes of each unit, exactly or hopefully."""
        known = self.exact.get(movement)
        return movement.rough * self.hope if known is None else known

    def relayout(self, source: Layout, target: Layout) -> tuple[Movement, float] | None:
        """The relayout between two layouts and its price; None if nothing moves. Many plans ask for the same."""
        key = source, target
        if key not in self._relayouts:
            movement = None if same_places(source, target) else Movement(source, target)
            self._relayouts[key] = None if movement is None else (movement, self.steps(movement))
        return self._relayouts[key]

    def learn(self, movements: Iterable[Movement], plan: Plan = list) -> None:
        """Find out exact prices where they are not known. `plan` is given all that will be planned, to do it ahead."""
        wanted = {movement: movement.requests() for movement in movements if movement not in self.exact}
        self._relayouts.clear()
        plan([request for requests in wanted.values() for request in requests if not request.is_priced])
        for movement, requests in wanted.items():
            self.exact[movement] = sum((_resources(request.cost()) for request in requests), NOTHING)


def _resources(cost: Cost) -> Resources:
    """What a plan takes of each unit."""
    return Resources(
        alu=cost.steps - cost.l2bm_steps - cost.l1bm_steps,
        mv=cost.transfer_steps,
        l2bm=cost.l2bm_steps,
        l1bm=cost.l1bm_steps,
        latency=cost.latency_steps,
    )
