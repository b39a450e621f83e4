"""One trip from the PEs to the lowest memory that the exchange needs, and down again as a load comes down."""

from dataclasses import dataclass, field

import numpy as np

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.movement.collect_l2bm import Hop, NoRoom
from mnc.mncore_backend.movement.collecting import by_owners, by_rows, taking_turns
from mnc.mncore_backend.movement.compose import PES, NoWay, long_words
from mnc.mncore_backend.movement.estimate import TooMany, check_share
from mnc.mncore_backend.movement.feasible import may_stay
from mnc.mncore_backend.movement.hop_slices import Emit, ways_of
from mnc.mncore_backend.movement.paths import Path, hop_steps, l1bm_extent, paths, slices
from mnc.mncore_backend.movement.scope import LEVELS, Index, filled_addresses, mapped
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, PeStep
from mnc.mncore_backend.program import Buffer, Builder
from mnc.mncore_backend.target import chip

ORDERS = 3  # in which L2Bs may exchange, at most: by way of the DRAMs, and of PDM

WIDER, WIDE = 4, 2
"""Slices so many times as long are tried where L2Bs exchange, if there are at least so many: the DRAMs take what many
transfers bring, and their issue takes as long for little as for much."""

MVS = 2
"""Transfers of what L2Bs exchange: to a memory that all of them can read, and back."""

@dataclass(slots=True)
class _Trip:
    """All slices, which are worked out when they are wanted: who finds the first ones too dear does not pay for the
    rest."""

    source: Layout
    path: Path
    longs: Index | None
    parts: list[list[PeStep]]
    found: list[list[Emit]] = field(default_factory=list)
    obstacle: str = ""
    dear: int = 0  # slices after which the order before was given up

    def slice(self, number: int) -> list[Emit]:
        """The ways of a slice; it becomes two where more has to be collected than there is room for. Raises NoWay."""
        while len(self.found) == number:
            self._find(self.parts[number])
        return self.found[number]

    def _find(self, part: list[PeStep]) -> None:
        """The ways of the next slice. Raises NoWay, then and from then on."""
        if self.longs is None:
            raise NoWay(self.obstacle)
        try:
            self.found.append(ways_of(Hop(self.source, self.path, part), self.longs))
        except NoWay as error:
            number = len(self.found)
            if isinstance(error, NoRoom) and len(part) > 1:
                self.parts[number : number + 1] = [part[: len(part) // 2], part[len(part) // 2 :]]
                return
            self.obstacle = str(error)
            self.longs = None
            raise
        if len(self.found) == len(self.parts):
            self.longs = None  # it is large, and ways are remembered

    def may_have(self, order: int) -> bool:
        """Whether some slice has a way of this number, as far as is known."""
        return len(self.found) < len(self.parts) or any(order < len(ways) for ways in self.found)

    def least(self, *, by_l2bm: bool, by_mv: bool) -> int:
        """Steps from L1BM down to the PEs; `by_l2bm`: and from L2BM down to L1BM, or from another L1BM; `by_mv`: and of
        an MV up and one down for every slice."""
        mvs = MVS * (chip().mv_latency_steps + chip().mv_issue_interval_steps * len(self.parts)) if by_mv else 0
        if not by_l2bm:
            return mvs + sum(map(len, self.parts))
        each = [(hop_steps(self.path, part), l1bm_extent(self.path, part) // MV_UNIT) for part in self.parts]
        return mvs + sum(
            min(steps, len(part) + chip().multicast_interval_steps * blocks)
            for part, (steps, blocks) in zip(self.parts, each, strict=True)
        )

    def way(self, order: int) -> Emit:
        """Every slice in this one of its ways, or in the last; raises NoWay when it is emitted, also where it is the
        same as that of the order before, or as far as that was followed before it became too dear."""

        def run(builder: Builder, a: Buffer, b: Buffer) -> None:
            if self.obstacle or not self.may_have(order):
                raise NoWay(self.obstacle or "there is no other order")
            if self.dear and all(len(ways) <= order for ways in self.found[: self.dear]):
                raise NoWay("it begins like the order before, which takes too many steps")
            self._emit(order, builder, a, b)

        return run

    def _emit(self, order: int, builder: Builder, a: Buffer, b: Buffer) -> None:
        other = order == 0
        number = done = 0
        total = sum(len(part) for part in self.parts)
        try:
            while number < len(self.parts):  # there may come to be more of them
                ways = self.slice(number)
                done += len(self.parts[number])
                number += 1
                ways[min(order, len(ways) - 1)](builder, a, b)
                other |= order < len(ways)
                check_share(builder, done / total)
        except TooMany:
            self.dear = number
            raise
        self.dear = 0
        if not other:
            raise NoWay("there is no other order")


def hop(source: Layout, target: Layout, index_map: Index | None = None) -> list[tuple[int, Emit]]:
    """Ways to turn `source` into `target` by one trip, each with the steps that it takes at least; lanes do not move.
    What a way emits it emits slice by slice; words that pad the target or that the map sends nowhere get copies of
    something. A way may raise NoWay."""
    held = mapped(target, index_map)
    addresses = filled_addresses(target, index_map, held >= 0)
    choices = [(path, addresses) for path in paths(target, upward=False)]
    turns = taking_turns(source, held, addresses)
    rows = by_rows(source, held, addresses)
    choices += [(path, turns) for path, _ in choices if path.sets == (0,) and turns is not None]
    choices += [(path, rows) for path in paths(target, upward=False) if rows is not None]
    choices += _by_owners(source, target, held, addresses)
    longs = _long_words(source, target, held)
    choices = [choice for number, choice in enumerate(choices) if choice not in choices[:number]]
    trips = [_Trip(source, path, longs, slices(path, order, two_long=True)) for path, order in choices]
    if index_map is None and not may_stay(source, target, Axis.L2B):
        parts = [(path, slices(path, order, two_long=True, times=WIDER)) for path, order in choices]
        trips += [_Trip(source, path, longs, own) for path, own in parts if len(own) >= WIDE]
    by_l2bm = index_map is None and not may_stay(source, target, Axis.L1B)
    by_mv = index_map is None and not may_stay(source, target, Axis.L2B)
    return [
        (trip.least(by_l2bm=by_l2bm, by_mv=by_mv), trip.way(order)) for trip in trips for order in range(ORDERS)
    ]


def _by_owners(source: Layout, target: Layout, held: Index, addresses: list[int]) -> list[tuple[Path, list[int]]]:
    """Paths on which a step takes several addresses from one MAB, with addresses such that a block of L2BM comes from
    one L1B: 49 of each of eight L1Bs do not make whole blocks otherwise."""
    found: list[tuple[Path, list[int]]] = []
    for path in paths(target, upward=False):
        longs = path.family.short.block // CYCLES  # of one address
        if path.sets is not None and PES <= longs < MV_UNIT:
            order = by_owners(source, held, addresses, MV_UNIT // longs)
            if order is not None:
                found.append((path, order))
    return found


def _long_words(source: Layout, target: Layout, held: Index) -> Index:
    """`long_words` of what the target holds; coordinates that hold replicas are looked at once."""
    alike = [target.replicated_bits(axis) == chip().axis_size[axis] - 1 for axis in LEVELS]
    once = held[tuple(slice(1) if same else slice(None) for same in alike)]
    longs = long_words(source, once)
    return np.broadcast_to(longs, (*held.shape[:-1], longs.shape[-1]))
