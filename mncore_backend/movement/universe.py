"""Bringing everything that any PE of a neighbourhood might need to each of its PEs.

The neighbourhood is as small as the need allows: coordinates that every word keeps are not crossed. Source addresses
are taken in chunks that fit the staging memories; each chunk arrives in portions that fit a scratch buffer of LM0.
"""

from collections.abc import Iterator
from copy import copy as copy_of
from dataclasses import dataclass

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.movement.local import LONG, access, copy
from mnc.mncore_backend.movement.paths import Path
from mnc.mncore_backend.movement.scope import LEVELS, Index, Need, distinct
from mnc.mncore_backend.movement.staging import (
    ALIGNMENT,
    bring_back,
    emit_down,
    emit_l2bm_down,
    emit_l2bm_up,
    emit_up,
    staging,
)
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, PE_FAMILIES, Family, pe_steps
from mnc.mncore_backend.program import Buffer, Builder, upper

SCRATCH = 512  # long words of LM0 for arriving data
STAGED_L1BM = 4096  # long words for one chunk: half of the memory
STAGED_L2BM = 8192
ARRIVING_L2BM = 16384  # what one exchange between L2Bs may bring: half of the memory
RESERVED = 2  # long words of the scratch buffer before the data: zero, padding


@dataclass(slots=True)
class Crossing:
    """How the words of a source travel. Counts are those of distinct coordinates; 1 where a coordinate is kept."""

    layout: Layout
    lefts: list[int]  # representatives of L2B that are collected ([] = L2B kept)
    blocks: list[int]  # representatives of L1B that are collected ([] = L1B kept)
    family: Family | None  # how data comes down; None = nothing leaves the MAB
    mabs_alike: bool  # the source is replicated over all MABs
    rotate: bool  # exchange between the PEs of a MAB by rotations

    @property
    def native(self) -> int:
        """Long words of L1BM per source address."""
        return 4 if self.mabs_alike else 64

    @property
    def granule(self) -> int:
        """Long words of L1BM per long word that arrives in a PE."""
        if self.family is None:
            return 1
        return self.family.short.block // CYCLES

    def l1bm_per_chunk(self, count: int) -> int:
        """Long words of L1BM that `count` source addresses of one L1B take, rounded to whole L2BM instructions."""
        return -(-count * self.native // MV_UNIT) * MV_UNIT

    @property
    def room(self) -> int:
        """Long words that may arrive in a PE at a time."""
        return SCRATCH // (CYCLES if self.rotate else 1)

    @property
    def l1bs_differ(self) -> bool:
        """L1Bs are kept apart although they hold different data."""
        return not self.blocks and self.layout.replicated_bits(Axis.L1B) != 7

    @property
    def unit(self) -> int:
        """Long words of L1BM that are chosen together: what an MV unit brings, or a row of l1bmd, in which the place of
        a long word says for which MAB it is."""
        return MV_UNIT // 8 if self.l1bs_differ and self.family is not PE_FAMILIES[0] else MV_UNIT

    @property
    def mv_units(self) -> int:
        """MV units of L2BM that such a choice takes."""
        return self.unit * (8 if self.l1bs_differ else 1) // MV_UNIT

    @property
    def room_of_arrivals(self) -> int:
        """Long words of L1BM that may arrive at a time: half of L1BM, and not more than half of L2BM holds."""
        return min(STAGED_L1BM, ARRIVING_L2BM // (8 if self.l1bs_differ else 1))

    def chunk(self) -> int:
        """Source addresses per chunk: what the staging memories hold on the way up, and on the way down if everything
        is delivered to everybody."""
        if self.family is None:
            return self.room
        native = max(self.native, MV_UNIT // CYCLES)
        wide = native * (8 if self.l1bs_differ else max(1, len(self.blocks)))
        most = STAGED_L1BM // native
        if not self.lefts:
            most = STAGED_L1BM // (native * max(1, len(self.blocks)))
        return max(1, min(most, STAGED_L2BM // wide))


def crossing(source: Layout, need: Need) -> Crossing:
    """The smallest neighbourhood and the cheapest way through it."""
    kept = {axis: need.keeps(axis) for axis in LEVELS}
    lefts = [] if kept[Axis.L2B] else distinct(source, Axis.L2B)
    blocks = [] if kept[Axis.L1B] else distinct(source, Axis.L1B)
    alike = source.replicated_bits(Axis.MAB) == 15
    inside = kept[Axis.MAB] and not alike
    if not lefts and not blocks and kept[Axis.MAB]:
        return Crossing(source, [], [], None, alike, rotate=not kept[Axis.PE])
    if inside:
        return Crossing(source, lefts, blocks, PE_FAMILIES[0], alike, rotate=not kept[Axis.PE])
    family = PE_FAMILIES[2] if kept[Axis.PE] else PE_FAMILIES[3]
    return Crossing(source, lefts, blocks, family, alike, rotate=False)


@dataclass(slots=True)
class Portion:
    """What is in the scratch buffer at a time: `index` is the word in it for every target word, -1 where the needed
    word is not there."""

    index: Index


def portions(builder: Builder, way: Crossing, source: Buffer, need: Need, scratch: Buffer) -> Iterator[Portion]:
    """Emit the transfers portion by portion; the caller picks from the scratch buffer in between."""
    addresses = need.at(Axis.ADDRESS)
    used = _in_order_of_use(need)
    first, size = 0, way.chunk()
    while first < len(used):
        chunk = [int(a) for a in used[first : first + size]]
        rank = np.full(int(used.max()) + 1, -1, np.int64)
        rank[chunk] = np.arange(len(chunk))
        number = np.where(need.wanted, rank[np.minimum(addresses, len(rank) - 1)], -1)
        if way.family is None:
            copy(builder, source, scratch, [(LONG * a, LONG * (RESERVED + i)) for i, a in enumerate(chunk)])
            yield _finish(builder, way, need, number, number >= 0, len(chunk), scratch)
        else:
            route = _Route(way, need, number, len(chunk))
            if route.arriving > way.room_of_arrivals and len(chunk) > 1:
                size = max(1, min(len(chunk) - 1, len(chunk) * way.room_of_arrivals // route.arriving))
                continue
            for part in route.parts(way.room_of_arrivals):
                yield from _arrivals(builder, part, source, scratch, chunk)
        first += len(chunk)


def _in_order_of_use(need: Need) -> Index:
    """Source addresses that some PE wants, by the first target word that wants them: what different PEs want for the
    same word arrives together, and is picked together."""
    longs = np.broadcast_to(np.arange(need.wanted.shape[-1]), need.wanted.shape)[need.wanted]
    wanted = need.at(Axis.ADDRESS)[need.wanted]
    earliest = np.full(int(wanted.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(earliest, wanted, longs)
    used = np.unique(wanted)
    return used[np.argsort(earliest[used], kind="stable")]


class _Route:
    """Where the words of one chunk of source addresses pass.

    Between L2Bs a word travels in units of 64 long words of L2BM, and an L2B receives only the units that some PE of it
    wants. `wanted[L2B]` are their numbers in PDM, where the chunk lies by L2B; all L2Bs receive equally many.
    """

    def __init__(self, way: Crossing, need: Need, number: Index, count: int) -> None:
        self.way, self.need, self.number, self.count = way, need, number, count
        self.size = way.l1bm_per_chunk(count)
        place = self._within_l2b()
        self.wanted: list[list[int]] = []
        if not way.lefts:
            self.position, self.arriving = place, self.size * max(1, len(way.blocks))
            return
        unit = way.unit
        self.width = self.size * max(1, len(way.blocks)) // unit  # units of one L2B
        key = _rank(way.lefts, need.at(Axis.L2B)) * self.width + place // unit
        held = [np.unique(key[i][number[i] >= 0]) for i in range(len(key))]
        most = max(1, *(len(own) for own in held))
        whole = CYCLES // way.mv_units if way.l1bs_differ and way.mv_units < CYCLES else 1  # an l2bmd moves four units
        most = -(-most // whole) * whole
        rank = np.stack([np.searchsorted(own, k) for own, k in zip(held, key, strict=True)])
        self.position, self.arriving = rank * unit + place % unit, most * unit
        chosen = [[*own.tolist(), *range(most - len(own))] for own in held]
        self.wanted = [[u * way.mv_units + i for u in own for i in range(way.mv_units)] for own in chosen]

    def parts(self, room: int) -> Iterator["_Route"]:
        """The same exchange in several, none of which brings more than `room` long words into an L1BM."""
        unit, mv_units = self.way.unit, self.way.mv_units
        choices = max(CYCLES, room // unit // CYCLES * CYCLES)
        if self.arriving <= room or not self.wanted:
            yield self
            return
        for start in range(0, self.arriving // unit, choices):
            part = copy_of(self)
            part.wanted = [own[start * mv_units : (start + choices) * mv_units] for own in self.wanted]
            part.position = self.position - start * unit
            part.arriving = len(part.wanted[0]) // mv_units * unit
            yield part

    def _within_l2b(self) -> Index:
        """Offset of the wanted long word in L1BM, or in L2BM if L1Bs exchange."""
        native = self.number * self.way.native + self.need.at(Axis.PE)
        if not self.way.mabs_alike:
            native = native + 4 * self.need.at(Axis.MAB)
        return native + self.size * _rank(self.way.blocks, self.need.at(Axis.L1B)) if self.way.blocks else native


def _arrivals(builder: Builder, route: _Route, source: Buffer, scratch: Buffer, chunk: list[int]) -> Iterator[Portion]:
    way, need, number, position = route.way, route.need, route.number, route.position
    l1bm, total = _collect(builder, route, source, chunk)
    granule = way.granule
    eight = 1 if way.family is PE_FAMILIES[0] else 8  # whole 2-long steps
    for start in range(0, total, way.room * granule):
        inside = (number >= 0) & (position >= start) & (position < min(total, start + way.room * granule))
        if not inside.any():
            continue
        first = int(position[inside].min()) // granule // eight * eight
        count = -(-(int(position[inside].max()) // granule - first + 1) // eight) * eight
        _deliver(builder, way, l1bm, first, count, scratch)
        arrived = position // granule - first
        if way.family is PE_FAMILIES[3]:  # the second long words of a 2-long l1bmp follow those of all four cycles
            arrived = arrived // 8 * 8 + 2 * (arrived % 4) + arrived // 4 % 2
        yield _finish(builder, way, need, arrived, inside, count, scratch)


def _rank(representatives: list[int], coordinates: Index) -> Index:
    """Number of the representative that holds the same data as each coordinate."""
    mask = 0
    for r in representatives:
        mask |= r
    rank = np.zeros(mask + 1, np.int64)
    rank[representatives] = np.arange(len(representatives))
    return rank[coordinates & mask]


def _collect(builder: Builder, route: _Route, source: Buffer, chunk: list[int]) -> tuple[Buffer, int]:
    """PE -> L1BM (-> L2BM (-> PDM -> L2BM) -> L1BM). Returns the L1BM buffer to read from and its filled size."""
    way, size = route.way, route.size
    family = PE_FAMILIES[2] if way.mabs_alike else PE_FAMILIES[0]
    block = family.short.block
    up = staging(builder, Memory.L1BM, max(size, -(-len(chunk) // CYCLES) * block), "gather")
    parts = [chunk[i : i + CYCLES] for i in range(0, len(chunk), CYCLES)]
    steps = [step for part in parts for step in pe_steps(part, family, two_long=False)]
    end = 0
    for step in steps:
        emit_up(builder, step, source, up, end)
        end += block
    while end < size:
        emit_up(builder, steps[-1], source, up, end)
        end += block
    if not way.blocks and not way.lefts:
        return up, size
    return _exchange(builder, route, up)


def _exchange(builder: Builder, route: _Route, up: Buffer) -> tuple[Buffer, int]:
    """Through L2BM: all L1Bs (or the own one) of the own L2B, or the wanted units of all L2Bs, in every L1BM."""
    way, size = route.way, route.size
    kept_distinct = way.l1bs_differ
    ascent = Path(PE_FAMILIES[0], None if kept_distinct else tuple(way.blocks or [0]), 7)
    wide = size * ascent.widening
    l2bm = staging(builder, Memory.L2BM, wide, "gather")
    emit_l2bm_up(builder, ascent, up, l2bm, size)
    if way.lefts:
        pdm = builder.temporary(wide * len(way.lefts), (Memory.PDM,), "gather", alignment=MV_UNIT)
        for i, left in enumerate(way.lefts):
            origin = upper(l2bm, 0, group=left >> 1, l2b=left & 1)
            builder.emit("mvp", [origin], [upper(pdm, i * wide, group=0)], size=wide)
        wide = len(route.wanted[0]) * MV_UNIT
        l2bm = staging(builder, Memory.L2BM, wide, "gathered")
        bring_back(builder, pdm, l2bm, MV_UNIT * np.array(route.wanted))
    descent = Path(PE_FAMILIES[0], None if kept_distinct else (0,), 7)
    total = wide // 8 if kept_distinct else wide
    extent = -(-total // ALIGNMENT) * ALIGNMENT if way.family is PE_FAMILIES[0] else total
    down = staging(builder, Memory.L1BM, extent, "gathered")
    emit_l2bm_down(builder, descent, l2bm, down, total, extent)
    return down, total


def _deliver(builder: Builder, way: Crossing, l1bm: Buffer, first: int, count: int, scratch: Buffer) -> None:
    """L1BM -> scratch: long words first..first+count of every PE's view, from scratch address RESERVED on."""
    assert way.family is not None
    at = first * way.granule
    for step in pe_steps([RESERVED + i for i in range(count)], way.family, two_long=True):
        emit_down(builder, step, l1bm, at, scratch)
        at += step.data


def _finish(
    builder: Builder, way: Crossing, need: Need, number: Index, inside: np.ndarray, count: int, scratch: Buffer
) -> Portion:
    """Add rotated copies if PEs exchange; turn long-word numbers into scratch words."""
    if way.rotate:
        for turn in range(1, CYCLES):
            for i in range(0, count, CYCLES):
                part = range(i, min(i + CYCLES, count))
                read = [LONG * (RESERVED + (turn - 1) * count + k) for k in part]
                write = [LONG * (RESERVED + turn * count + k) for k in part]
                held = access(builder.temporary(CYCLES), [LONG * k for k in range(len(part))], LONG)
                builder.emit("msl", [access(scratch, read, LONG)], [held])
                builder.emit("lpassa", [held], [access(scratch, write, LONG)])
        own = np.arange(CYCLES).reshape(1, 1, 1, 4, 1)
        number = number + (own - need.at(Axis.PE)) % CYCLES * count
    words = LONG * (RESERVED + number) + need.at(Axis.W)
    return Portion(np.where(inside, words, -1))
