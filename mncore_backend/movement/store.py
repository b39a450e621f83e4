"""PE -> L1BM -> L2BM -> DRAM for any layout."""

from collections.abc import Sequence

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, place
from mnc.mncore_backend.machine import GROUPS
from mnc.mncore_backend.movement.image import DramImage
from mnc.mncore_backend.movement.load import dram_index
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
from mnc.mncore_backend.movement.staging import alternating, emit_l2bm_up, emit_up
from mnc.mncore_backend.movement.transfers import MV_UNIT, PeStep, placed
from mnc.mncore_backend.program import Buffer, Builder, upper


def plan_store(builder: Builder, layout: Layout, source: Buffer, *, partial: bool = False) -> DramImage:
    """Emit the transfers that bring one replica of a tensor from `source` (PE memory) to DRAM and say how it lies
    there.

    Every PE must have written all addresses that the layout uses. With `partial` every L2B holds a part of the tensor,
    which the layout replicates over them, and the sum of the parts is stored.
    """
    held = place(layout)
    addresses = used_addresses(held)
    two_long = source.alignment % 2 == 0
    spread = _REDUCING if partial else _Spread([L for L in range(8) if L & layout.replicated_bits(Axis.L2B) == 0])
    candidates = [(path, slices(path, addresses, two_long=two_long)) for path in paths(layout, upward=True)]
    path, parts = min(candidates, key=lambda c: _cost(c[0], c[1]))
    data = [l1bm_size(path, part) for part in parts]
    l2bm_sizes = [size * path.widening for size in data]
    groups = mv_groups(l2bm_sizes)
    indices = [l2bm_index(path, l1bm_index(held, part, size)) for part, size in zip(parts, data, strict=True)]
    images = [spread.dram_index(np.concatenate([indices[i] for i in group], axis=1)) for group in groups]
    index = np.concatenate(images, axis=1)
    dram = builder.program.buffer("image", index.shape[1], (Memory.DRAM,), alignment=MV_UNIT, pinned=True)
    extents = [max(size, l1bm_extent(path, part)) for size, part in zip(data, parts, strict=True)]
    wide = [sum(l2bm_sizes[i] for i in group) for group in groups]
    l2bm = alternating(builder, Memory.L2BM, wide, "up")
    l1bm = alternating(builder, Memory.L1BM, extents, "up")
    start = 0
    for g, group in enumerate(groups):
        filled = 0
        for i in group:
            _emit_pe(builder, parts[i], source, l1bm[i], data[i])
            emit_l2bm_up(builder, path, l1bm[i], l2bm[g], data[i], filled)
            filled += l2bm_sizes[i]
        spread.emit_mv(builder, l2bm[g], dram, start, filled)
        start += images[g].shape[1]
    return DramImage(dram, layout.shape, index, spread.groups)


class _Spread:
    """How the L2BMs named by `keep` come to DRAM: each is copied, or (`reduced`) all are added by the transfer."""

    def __init__(self, keep: Sequence[int], *, reduced: bool = False) -> None:
        self.keep = keep
        self.reduced = reduced
        self.halves = sorted({L & 1 for L in keep})
        self.groups = tuple(range(GROUPS)) if reduced else tuple(sorted({L >> 1 for L in keep}))

    def dram_index(self, l2bm: Index) -> Index:
        """[L2B, k, word] as [group, DRAM long word, word]; groups that take no part hold nothing."""
        if self.reduced:
            return dram_index(l2bm, "mvb")  # the sum lies as what a broadcast would read
        size = l2bm.shape[1]
        result = np.full((GROUPS, len(self.halves) * size, 2), -1, np.int64)
        for L in self.keep:
            at = self.halves.index(L & 1) * size
            result[L >> 1, at : at + size] = l2bm[L]
        return result

    def emit_mv(self, builder: Builder, l2bm: Buffer, dram: Buffer, start: int, size: int) -> None:
        """Store `size` long words of every L2BM from DRAM offset `start` on."""
        if self.reduced:
            builder.emit("mvrffadd", [upper(l2bm)], [upper(dram, start)], size=size)
            return
        for i, half in enumerate(self.halves):
            target = start + i * size
            if len(self.groups) == GROUPS:
                builder.emit("mvp", [upper(l2bm, 0, l2b=half)], [upper(dram, target)], size=size)
                continue
            for g in self.groups:
                builder.emit("mvp", [upper(l2bm, 0, group=g, l2b=half)], [upper(dram, target, group=g)], size=size)


_REDUCING = _Spread(range(8), reduced=True)


def _cost(path: Path, parts: list[list[PeStep]]) -> tuple[int, int]:
    size = sum(l1bm_size(path, part) for part in parts)
    return size * path.widening, sum(hop_steps(path, part) for part in parts)


def _emit_pe(builder: Builder, part: list[PeStep], source: Buffer, l1bm: Buffer, data: int) -> None:
    """PE -> L1BM. Up transfers always write four cycles: idle ones are overwritten by the step that follows. What the
    L2BM instructions read beyond the data is filled by repeating the last step."""
    end = 0
    for offset, step in placed(part):
        emit_up(builder, step, source, l1bm, offset)
        end = offset + step.form.block
    while end < data:
        emit_up(builder, part[-1], source, l1bm, end)
        end += part[-1].form.block
