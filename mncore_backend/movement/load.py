"""DRAM -> L2BM -> L1BM -> PE for any layout."""

from dataclasses import dataclass

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, place
from mnc.mncore_backend.machine import CYCLES_PER_STEP, GROUPS, MV_LATENCY_STEPS
from mnc.mncore_backend.movement.image import DramImage
from mnc.mncore_backend.movement.paths import (
    MV_SLICE,
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
from mnc.mncore_backend.movement.staging import alternating, emit_down, emit_l2bm_down
from mnc.mncore_backend.movement.transfers import MV_GRANULE, MV_UNIT, PeStep, placed
from mnc.mncore_backend.program import Buffer, Builder, upper


def plan_load(builder: Builder, layout: Layout, destination: Buffer, *, padding: int = 0) -> DramImage:
    """Emit the transfers that bring a tensor into `destination` (PE memory) and say how it lies in DRAM.

    Replicas that the instructions can make are made on the way; the others are copies in DRAM. The path with the
    fewest DRAM long words is taken, then the one with the fewest steps. `padding` is the bit pattern of padding.
    """
    arrival = prepare(layout, destination)
    spread = arrival.spread
    images = [
        dram_index(np.concatenate([arrival.l2bm_index(i) for i in group], axis=1), spread)
        for group in mv_groups([arrival.l2bm_size(i) for i in range(len(arrival.parts))], _largest(spread))
    ]
    index = np.concatenate(images, axis=1)
    dram = builder.program.buffer("image", index.shape[1], (Memory.DRAM,), alignment=MV_UNIT, pinned=True)
    _emit(builder, arrival, dram)
    return DramImage(dram, layout.shape, index, tuple(range(GROUPS)), padding)


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a tensor comes: the inner hops chosen, its slices and the coarsest MV form that serves it. `data[i]` is the
    size of slice i in L1BM, long words."""

    layout: Layout
    destination: Buffer
    path: Path
    parts: list[list[PeStep]]
    data: list[int]
    spread: str

    def l2bm_index(self, part: int) -> Index:
        """What each word of the L2BMs holds when a slice has arrived: [L2B, long word, word]."""
        held = place(self.layout)  # as large as the chip, so not kept while all loads are planned
        return l2bm_index(self.path, l1bm_index(held, self.parts[part], self.data[part]))

    @property
    def l2bm_total(self) -> int:
        """Long words of one L2BM that the whole tensor takes."""
        return sum(self.data) * self.path.widening

    def l2bm_size(self, part: int) -> int:
        """Long words of one L2BM that a slice takes."""
        return self.data[part] * self.path.widening


def prepare(layout: Layout, destination: Buffer) -> Arrival:
    """Choose the path with the fewest DRAM long words, then with the fewest steps."""
    held = place(layout)
    addresses = used_addresses(held)
    two_long = destination.alignment % 2 == 0
    spread = _spread(layout)
    candidates = [(path, slices(path, addresses, two_long=two_long)) for path in paths(layout, upward=False)]
    path, parts = min(candidates, key=lambda c: _cost(c[0], c[1], spread))
    return Arrival(layout, destination, path, parts, [l1bm_size(path, part) for part in parts], spread)


def emit_from_l2bm(builder: Builder, arrival: Arrival, part: int, l2bm: Buffer, start: int, l1bm: Buffer) -> None:
    """The inner hops of one slice, which lies at offset `start` of `l2bm`."""
    extent = l1bm_extent(arrival.path, arrival.parts[part])
    emit_l2bm_down(builder, arrival.path, l2bm, l1bm, arrival.data[part], extent, start)
    for offset, step in placed(arrival.parts[part]):
        emit_down(builder, step, l1bm, offset, arrival.destination)


def _spread(layout: Layout) -> str:
    """The MV form: which L2Bs may share their data."""
    free = layout.replicated_bits(Axis.L2B)
    if free == 7:
        return "mvb"
    if free & 6 == 6:
        return "mvb4"
    return "mvb2" if free & 1 else "mvp"


# Long words that a half moves at 16 per cycle while the latency of the other passes.
_HALF_LATENCY = 16 * CYCLES_PER_STEP * MV_LATENCY_STEPS

# DRAM long words (all groups) per long word of one L2BM.
DRAM_PER_L2BM = {"mvb": 1, "mvb4": 2, "mvb2": 4, "mvp": 8}


def _cost(path: Path, parts: list[list[PeStep]], spread: str) -> tuple[int, int]:
    size = sum(l1bm_size(path, part) for part in parts) * path.widening
    return size * DRAM_PER_L2BM[spread], sum(hop_steps(path, part) for part in parts)


def dram_index(l2bm: Index, spread: str) -> Index:
    """[L2B, k, word] as [group, DRAM long word, word]."""
    size = l2bm.shape[1]
    by_group = l2bm.reshape(GROUPS, 2, size, 2)
    if spread == "mvp":
        return by_group.reshape(GROUPS, 2 * size, 2)
    if spread == "mvb2":
        return by_group[:, 0]
    units = by_group[0].reshape(2, size // MV_UNIT, GROUPS, MV_GRANULE, 2)  # l u s j w
    if spread == "mvb":
        return units[0].transpose(1, 0, 2, 3).reshape(GROUPS, size // GROUPS, 2)
    return units.transpose(2, 1, 0, 3, 4).reshape(GROUPS, size // 2, 2)


def _largest(spread: str) -> int:
    """Long words of an L2BM that one MV of a large tensor fills.

    The two halves of a group take turns at its DRAM: while one MV moves data the latency of the other passes, and the
    next may follow it (OPEN-38). Larger MVs would only delay the work on what has come. Where all L2BMs are filled at
    once every MV waits for the one before, and few large ones are best.
    """
    return _HALF_LATENCY if spread == "mvp" else MV_SLICE


def _emit(builder: Builder, arrival: Arrival, dram: Buffer) -> None:
    parts, spread = arrival.parts, arrival.spread
    sizes = [arrival.l2bm_size(i) for i in range(len(parts))]
    groups = mv_groups(sizes, _largest(spread))
    wide = [sum(sizes[i] for i in group) for group in groups]
    l2bm = alternating(builder, Memory.L2BM, wide, "down")
    l1bm = alternating(builder, Memory.L1BM, [l1bm_extent(arrival.path, part) for part in parts], "down")
    starts = [sum(wide[:g]) * DRAM_PER_L2BM[spread] // GROUPS for g in range(len(groups))]
    emit_mv(builder, spread, dram, starts[0], l2bm[0], wide[0])
    for g, group in enumerate(groups):
        if g + 1 < len(groups):  # ahead of the PE work of these slices, which it may overlap
            emit_mv(builder, spread, dram, starts[g + 1], l2bm[g + 1], wide[g + 1])
        start = 0
        for i in group:
            emit_from_l2bm(builder, arrival, i, l2bm[g], start, l1bm[i])
            start += sizes[i]


def emit_mv(builder: Builder, spread: str, dram: Buffer, start: int, l2bm: Buffer, size: int) -> None:
    if spread == "mvp":
        for half in range(2):
            builder.emit("mvp", [upper(dram, start + half * size)], [upper(l2bm, 0, l2b=half)], size=size)
        return
    builder.emit(spread, [upper(dram, start)], [upper(l2bm, 0)], size=size)
