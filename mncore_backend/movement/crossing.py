"""How far the words of a source have to travel, and by which transfers: the smallest neighbourhood of PEs in which all
that any of them needs can be found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.movement.room import half_of_l1bm, half_of_l2bm, room, scratch
from mnc.mncore_backend.movement.scope import LEVELS, Need, distinct
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, SHARE_UNIT, Family, pe_families
from mnc.mncore_backend.target import PES_PER_MAB, chip


@dataclass(slots=True)
class Crossing:
    """How the words of a source travel. Counts are those of distinct coordinates; 1 where a coordinate is kept."""

    layout: Layout
    lefts: list[int]  # representatives of L2B that are collected ([] = L2B kept)
    blocks: list[int]  # representatives of L1B that are collected ([] = L1B kept)
    family: Family | None  # how data comes down; None = nothing leaves the MAB
    mabs_alike: bool  # the source is replicated over all MABs
    rotate: bool  # exchange between the PEs of a MAB by rotations
    row: int = 0  # addresses of a MAB where the need is by granules: then theirs are MAB * row + address
    in_turn: bool = False  # l2bmd collects from all L1Bs at once; otherwise those of `blocks` give one after the other
    direct: bool = False  # l2bmi brings what L1Bs of an L2B exchange; otherwise it passes L2BM

    @property
    def native(self) -> int:
        """Long words of L1BM per source address."""
        return PES_PER_MAB * (1 if self.mabs_alike else chip().mabs_per_l1b)

    @property
    def may_take_turns(self) -> bool:
        """An l2bmd takes from all L1Bs at once, four times as much as the instructions that take from one. But then a
        unit of L2BM holds a little of every L1B. Where each MAB takes its own from a row of L1BM, whole rows have to
        come from one L1B."""
        return self.family not in (None, pe_families().distinct) and len(self.blocks) * SHARE_UNIT > MV_UNIT

    @property
    def choices(self) -> "Sequence[Crossing]":
        """The same by each of the transfers between L1BMs that there are."""
        found: list[Crossing] = [self]
        if self.may_take_turns:
            found.append(replace(self, in_turn=True))
        if self.blocks and not self.lefts:
            found.append(replace(self, direct=True))
        return found

    @property
    def givers(self) -> int:
        """L1Bs of which an L2BM holds what they give."""
        return chip().l1bs_per_l2b if self.in_turn else max(1, len(self.blocks))

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
        return scratch() // (CYCLES if self.rotate else 1)

    @property
    def l1bs_differ(self) -> bool:
        """L1Bs are kept apart although they hold different data."""
        return not self.blocks and self.layout.replicated_bits(Axis.L1B) != chip().l1bs_per_l2b - 1

    @property
    def unit(self) -> int:
        """Long words of L1BM that are chosen together: what an MV unit brings, or a row of l1bmd, in which the place of
        a long word says for which MAB it is."""
        by_l1b = self.l1bs_differ and self.family is not pe_families().distinct
        return MV_UNIT // chip().l1bs_per_l2b if by_l1b else MV_UNIT

    @property
    def mv_units(self) -> int:
        """MV units of L2BM that such a choice takes."""
        return self.unit * (chip().l1bs_per_l2b if self.l1bs_differ else 1) // MV_UNIT

    @property
    def room_of_arrivals(self) -> int:
        """Long words of L1BM that may arrive at a time: half of L1BM, and not more than half of L2BM holds."""
        return min(half_of_l1bm(), half_of_l2bm() // (chip().l1bs_per_l2b if self.l1bs_differ else 1))

    def chunk(self) -> int:
        """Source addresses per chunk: what the staging memories hold on the way up, and on the way down if everything
        is delivered to everybody."""
        if self.family is None:
            return self.room
        native = max(self.native, MV_UNIT // CYCLES)
        wide = native * (chip().l1bs_per_l2b if self.l1bs_differ else self.givers)
        return max(1, min(half_of_l1bm() // native, room(Memory.L2BM, 1, 4) // wide))


def crossing(source: Layout, need: Need) -> Crossing:
    """The smallest neighbourhood and the cheapest way through it."""
    kept = {axis: need.keeps(axis) for axis in LEVELS}
    lefts = [] if kept[Axis.L2B] else _giving(source, need, Axis.L2B)
    blocks = [] if kept[Axis.L1B] else _giving(source, need, Axis.L1B)
    alike = source.replicated_bits(Axis.MAB) == chip().mabs_per_l1b - 1
    inside = kept[Axis.MAB] and not alike
    if not lefts and not blocks and kept[Axis.MAB]:
        return Crossing(source, [], [], None, alike, rotate=not kept[Axis.PE])
    if inside:
        return Crossing(source, lefts, blocks, pe_families().distinct, alike, rotate=not kept[Axis.PE])
    family = pe_families().mabs if kept[Axis.PE] else pe_families().every
    return Crossing(source, lefts, blocks, family, alike, rotate=False)


def narrowed(source: Layout, need: Need) -> tuple[Crossing, Need]:
    """The cheapest way for a need, and the need in its terms: by granules where few of the MABs have something that
    goes to others."""
    way = crossing(source, need)
    if way.family is None or way.family is pe_families().distinct or way.mabs_alike:
        return way, need
    granules, bits = need.granules(), need.code.address_bits
    addresses = np.zeros(1 << bits, np.bool_)
    addresses[granules & len(addresses) - 1] = True
    # MABs whose words travel one by one, on the average of all addresses: half of those that there are.
    if len(granules) > chip().mabs_per_l1b // 2 * np.count_nonzero(addresses):
        return way, need
    return replace(way, mabs_alike=True, row=len(addresses)), need.by_granules()


def _giving(source: Layout, need: Need, axis: Axis) -> list[int]:
    """Representatives of the coordinates that some word comes from."""
    wanted = np.unique(need.at(axis)[need.wanted])
    representatives = distinct(source, axis)
    return sorted({max(r for r in representatives if r & int(w) == r) for w in wanted})
