"""Planning the movements of a program before they are wanted, some of them at the same time as others."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement.estimate import Cost, count
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.movement.price_book import PRICES, digest
from mnc.mncore_backend.movement.relayout import plan_relayout
from mnc.mncore_backend.movement.repeats import REPEATS, Entries
from mnc.mncore_backend.movement.scope import Index
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program

WORTHWHILE = 300
"""Long words per PE of all sources and targets together from which the copy of a process gains time."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A movement between two buffers of local memory: a relayout, or a gather by `index_map`, which `fills` what pads
    its target or not. `keep` is that of the builder."""

    source: Layout
    target: Layout
    index_map: Index | None = None
    padding: int | None = None
    keep: bool = False
    fills: bool = False

    @property
    def size(self) -> int:
        """Long words per PE, which planning takes time for."""
        return self.source.local_size + self.target.local_size

    def plan(self) -> None:
        """Plan it, to be remembered by `REPEATS`. What is wrong with it is said where the movement is wanted."""
        self._planned()

    def cost(self) -> Cost:
        """What the plan takes; nothing is planned where that is known already."""
        return PRICES.price(self._key, lambda: count(self._planned().operations))

    @property
    def is_priced(self) -> bool:
        """Whether it is known what the plan takes."""
        return PRICES.knows(self._key)

    @property
    def _key(self) -> bytes:
        places = ((layout.shape, layout) for layout in (self.source, self.target))
        index_map = None if self.index_map is None else hashlib.blake2b(self.index_map.astype(np.int64).tobytes())
        return digest(*places, index_map and index_map.hexdigest(), self.padding, self.keep, self.fills)

    def _planned(self) -> Program:
        builder = Builder(Program(), keep=self.keep)
        source, target = (
            builder.program.buffer("ahead", layout.local_size, LOCAL_MEMORY) for layout in (self.source, self.target)
        )
        with suppress(Exception):
            if self.index_map is None:
                plan_relayout(builder, self.source, source, self.target, target)
            else:
                ends = self.source, source, self.target, target
                plan_gather(builder, *ends, self.index_map, padding=self.padding, fills=self.fills)
        return builder.program


Work = Callable[[Iterator[Request]], Entries]


def plan_ahead(requests: Iterable[Request], share_out: Callable[[Sequence[Request], Work], Iterable[Entries]]) -> None:
    """Plan movements that will be wanted; `share_out` gives each request to one of the calls of what it is given, which
    may be made in other processes. Of little work nothing is done ahead."""
    ordered = sorted(requests, key=lambda r: -r.size)
    if sum(r.size for r in ordered) < WORTHWHILE:
        return
    known = REPEATS.keys()

    def made(own: Iterator[Request]) -> Entries:
        for request in own:
            request.plan()
        return REPEATS.entries(known)

    for entries in share_out(ordered, made):
        REPEATS.learn(entries)
