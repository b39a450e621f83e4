"""PE -> L1BM -> L2BM -> DRAM for any layout."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, place
from mnc.mncore_backend.movement.load import dram_index, dram_per_l2bm, pieces
from mnc.mncore_backend.movement.paths import (
    Index,
    Path,
    hop_steps,
    l1bm_extent,
    l1bm_index,
    l1bm_size,
    l2bm_index,
    mv_groups,
    paths,
    slices,
    used_addresses,
)
from mnc.mncore_backend.movement.room import mv_slice, room
from mnc.mncore_backend.movement.staging import alternating, emit_l2bm_up, emit_up, staging
from mnc.mncore_backend.movement.transfers import MV_UNIT, PeStep, pe_families, placed
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, upper
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import chip

Sums = Mapping[Axis, int]
"""Coordinate bits of the places (all L2Bs, some L1Bs, all MABs) whose parts are added on the way."""


def plan_store(builder: Builder, layout: Layout, source: Buffer, sums: Sums | None = None) -> DramImage:
    """Emit the transfers that bring one replica of a tensor from `source` (PE memory) to DRAM and say how it lies
    there.

    Every PE must have written all addresses that the layout uses. PEs that differ in the bits of `sums`, over which the
    layout replicates the tensor, hold parts of it, and the sum of the parts is stored.
    """
    return _store(builder, prepare_store(layout, source, sums or {}))


def plan_stores(builder: Builder, requests: Sequence[tuple[Layout, Buffer, Sums]]) -> list[DramImage]:
    """`plan_store` for several tensors (layout, source, sums) that are stored one after the other.

    MVs are issued at intervals: tensors that fit beside each other leave together.
    """
    departures = [prepare_store(*request) for request in requests]
    images: dict[int, DramImage] = {}
    shared: dict[Spread, list[int]] = {}
    for number, departure in enumerate(departures):
        members = shared.setdefault(departure.spread, [])
        if sum(departures[i].l2bm_total for i in members) + departure.l2bm_total <= mv_slice():
            members.append(number)
    for spread, members in shared.items():
        if len(members) > 1:
            own = _store_together(builder, spread, [departures[i] for i in members])
            images.update(zip(members, own, strict=True))
    return [images.get(i) or _store(builder, departure) for i, departure in enumerate(departures)]


@dataclass(frozen=True, slots=True)
class Departure:
    """How a tensor leaves: the inner hops chosen, its slices, and the MVs that follow. `data[i]` is the size of slice i
    in L1BM, long words; `held` is what each PE word holds. `l1bs` and `mabs` are the bits of L1Bs and MABs that are
    added."""

    layout: Layout
    source: Buffer
    path: Path
    parts: list[list[PeStep]]
    data: list[int]
    spread: "Spread"
    held: Index
    l1bs: int = 0
    mabs: int = 0

    @property
    def l2bm_sizes(self) -> list[int]:
        """Long words of one L2BM that each slice takes."""
        return [size * self.path.widening for size in self.data]

    @property
    def l2bm_total(self) -> int:
        """Long words of one L2BM that the whole tensor takes."""
        return sum(self.l2bm_sizes)

    @property
    def extents(self) -> list[int]:
        """Long words of L1BM that each slice touches, and the steps that fill what L2BM instructions read beyond."""
        pairs = zip(self.data, self.parts, strict=True)
        return [max(l1bm_extent(self.path, part), _placed_end(part, size)) for size, part in pairs]

    def l2bm_index(self, part: int) -> Index:
        """What each word of the L2BMs holds of a slice: [L2B, long word, word]."""
        return l2bm_index(self.path, l1bm_index(self.held, self.parts[part], self.data[part]))


def prepare_store(layout: Layout, source: Buffer, sums: Sums) -> Departure:
    """Choose the path that moves the fewest long words, then the one with the fewest steps."""
    held = place(layout)
    addresses = used_addresses(held)
    two_long = source.alignment % 2 == 0
    adding = [path for path in paths(layout, upward=True) if _adds(path, sums)]
    candidates = [(path, slices(path, addresses, two_long=two_long)) for path in adding]
    path, parts = min(candidates, key=lambda c: _cost(c[0], c[1]))
    keep = tuple(L for L in range(chip().l2bs) if L & layout.replicated_bits(Axis.L2B) == 0)
    spread = Spread(tuple(range(chip().l2bs)), reduced=True) if sums.get(Axis.L2B) else Spread(keep)
    data = [l1bm_size(path, part) for part in parts]
    return Departure(layout, source, path, parts, data, spread, held, sums.get(Axis.L1B, 0), sums.get(Axis.MAB, 0))


def _adds(path: Path, sums: Sums) -> bool:
    """Whether the hops of a path have forms that add: l1bmr over all MABs, l2bmr over the L1Bs of a set."""
    if sums.get(Axis.MAB) and path.family is not pe_families().mabs:
        return False
    return not sums.get(Axis.L1B) or path.sets is not None


def staged() -> int:
    """Long words of one L2BM that leave at a time of a tensor that would take much room there: what is loaded meanwhile
    for later work needs some, too."""
    return room(Memory.L2BM, 1, 8)


def _store(builder: Builder, departure: Departure) -> DramImage:
    """A tensor by itself, in as many MVs as it needs."""
    store = StoreInParts(builder, departure)
    for emit in store.parts:
        emit()
    return store.image


class StoreInParts:
    """A tensor that leaves by itself, part by part: `parts` emit one each, in this order, when they are called. Until
    the last has been, the tensor has to stay. `image` says how it lies in DRAM in the end."""

    def __init__(self, builder: Builder, departure: Departure) -> None:
        self._builder, self._departure, self._sizes = builder, departure, departure.l2bm_sizes
        sizes = self._sizes
        self._groups = mv_groups(sizes, staged() if departure.l2bm_total > 2 * staged() else mv_slice())
        indices = [departure.l2bm_index(i) for i in range(len(sizes))]
        images = [
            departure.spread.dram_index(np.concatenate([indices[i] for i in group], axis=1)) for group in self._groups
        ]
        self._starts = np.cumsum([0, *(image.shape[1] for image in images)]).tolist()
        dram = builder.program.buffer("image", self._starts[-1], (Memory.DRAM,), alignment=MV_UNIT, pinned=True)
        index = np.concatenate(images, axis=1)
        self.image = DramImage(dram, departure.layout.shape, index, departure.spread.groups)
        self._l2bm = alternating(builder, Memory.L2BM, [sum(sizes[i] for i in group) for group in self._groups], "up")
        self._l1bm = alternating(builder, Memory.L1BM, departure.extents, "up")
        self.parts: list[Callable[[], None]] = [partial(self._emit, number) for number in range(len(self._groups))]

    def _emit(self, number: int) -> None:
        filled, l2bm = 0, self._l2bm[number]
        for i in self._groups[number]:
            emit_slice(self._builder, self._departure, i, self._l1bm[i], l2bm, filled)
            filled += self._sizes[i]
        self._departure.spread.emit_mv(self._builder, l2bm, self.image.buffer, self._starts[number], filled)


def _store_together(builder: Builder, spread: "Spread", departures: Sequence[Departure]) -> list[DramImage]:
    """Tensors behind each other in L2BM, and in every part of DRAM that the MV writes."""
    total = sum(departure.l2bm_total for departure in departures)
    size = total // chip().groups if spread.reduced else total
    parts = 1 if spread.reduced else len(spread.halves)
    dram = builder.program.buffer("images", parts * size, (Memory.DRAM,), alignment=MV_UNIT, pinned=True)
    l2bm = staging(builder, Memory.L2BM, total, "shared")
    images = []
    filled = start = 0
    for departure in departures:
        l1bm = alternating(builder, Memory.L1BM, departure.extents, "up")
        for i, own in enumerate(departure.l2bm_sizes):
            emit_slice(builder, departure, i, l1bm[i], l2bm, filled)
            filled += own
        indices = [departure.l2bm_index(i) for i in range(len(departure.parts))]
        index = spread.dram_index(np.concatenate(indices, axis=1))
        length = index.shape[1] // parts
        segments = tuple((part * size + start, length) for part in range(parts))
        images.append(DramImage(dram, departure.layout.shape, index, spread.groups, 0, segments))
        start += length
    spread.emit_mv(builder, l2bm, dram, 0, total)
    return images


def emit_slice(builder: Builder, departure: Departure, part: int, l1bm: Buffer, l2bm: Buffer, start: int) -> None:
    """PE -> L1BM -> L2BM, to offset `start` there."""
    data = departure.data[part]
    _emit_pe(builder, departure, part, l1bm)
    emit_l2bm_up(builder, departure.path, l1bm, l2bm, data, start, summed=departure.l1bs)


@dataclass(frozen=True)
class Spread:
    """How the L2BMs named by `keep` come to DRAM: each is copied, or (`reduced`) all are added by the transfer."""

    keep: tuple[int, ...]
    reduced: bool = False

    @property
    def halves(self) -> list[int]:
        """The L2Bs inside a group that take part (the same in every group that does)."""
        return sorted({L % chip().l2bs_per_group for L in self.keep})

    @property
    def groups(self) -> tuple[int, ...]:
        """Groups whose DRAM is written."""
        if self.reduced:
            return tuple(range(chip().groups))
        return tuple(sorted({L // chip().l2bs_per_group for L in self.keep}))

    def dram_index(self, l2bm: Index) -> Index:
        """[L2B, k, word] as [group, DRAM long word, word]; groups that take no part hold nothing."""
        if self.reduced:
            return dram_index(l2bm, "mvb")  # the sum lies as what a broadcast would read
        size = l2bm.shape[1]
        result = np.full((chip().groups, len(self.halves) * size, 2), -1, np.int64)
        for L in self.keep:
            group, half = divmod(L, chip().l2bs_per_group)
            at = self.halves.index(half) * size
            result[group, at : at + size] = l2bm[L]
        return result

    def emit_mv(self, builder: Builder, l2bm: Buffer, dram: Buffer, start: int, size: int) -> None:
        """Store `size` long words of every L2BM from DRAM offset `start` on, in pieces, of which the first leave while
        the last are still brought to L2BM."""
        at = 0
        for part in pieces(size):
            if self.reduced:
                target = upper(dram, start + at * dram_per_l2bm()["mvb"] // chip().groups)
                builder.emit("mvrffadd", [upper(l2bm, at)], [target], size=part)
            else:
                self._emit_copies(builder, upper(l2bm, at), upper(dram, start + at), size, part)
            at += part

    def _emit_copies(
        self, builder: Builder, source: BufferOperand, target: BufferOperand, size: int, part: int
    ) -> None:
        """One piece of `part` long words of each L2BM that is stored; in DRAM the halves lie `size` apart."""
        for i, half in enumerate(self.halves):
            there = target._replace(offsets=(target.offsets[0] + i * size,))
            for g in (None,) if len(self.groups) == chip().groups else self.groups:
                ends = source._replace(group=g, l2b=half), there._replace(group=g)
                builder.emit("mvp", [ends[0]], [ends[1]], size=part)


def _cost(path: Path, parts: list[list[PeStep]]) -> tuple[int, int]:
    size = sum(l1bm_size(path, part) for part in parts)
    return size * path.widening, sum(hop_steps(path, part) for part in parts)


def _placed_end(part: list[PeStep], data: int) -> int:
    """The end in L1BM of the steps of a slice, where the last is repeated until `data` long words are written."""
    offset, last = placed(part)[-1]
    end = offset + last.form.block
    return end + -(-max(0, data - end) // last.form.block) * last.form.block


def _emit_pe(builder: Builder, departure: Departure, number: int, l1bm: Buffer) -> None:
    """PE -> L1BM. Up transfers always write four cycles: idle ones are overwritten by the step that follows. What the
    L2BM instructions read beyond the data is filled by repeating the last step."""
    part, data, source = departure.parts[number], departure.data[number], departure.source
    steps = placed(part)
    block, last = part[-1].form.block, _placed_end(part, data)
    steps += [(offset, part[-1]) for offset in range(steps[-1][0] + block, last, block)]
    for offset, step in steps:
        emit_up(builder, step, source, l1bm, offset, summed=departure.mabs != 0)
