"""PE -> L1BM -> L2BM -> DRAM for any layout."""

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, place
from mnc.mncore_backend.machine import GROUPS
from mnc.mncore_backend.movement.image import DramImage
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


def plan_store(builder: Builder, layout: Layout, source: Buffer) -> DramImage:
    """Emit the transfers that bring one replica of a tensor from `source` (PE memory) to DRAM and say how it lies
    there.

    Every PE must have written all addresses that the layout uses.
    """
    held = place(layout)
    addresses = used_addresses(held)
    two_long = source.alignment % 2 == 0
    keep = [L for L in range(8) if L & layout.replicated_bits(Axis.L2B) == 0]
    candidates = [(path, slices(path, addresses, two_long=two_long)) for path in paths(layout, upward=True)]
    path, parts = min(candidates, key=lambda c: _cost(c[0], c[1]))
    data = [l1bm_size(path, part) for part in parts]
    l2bm_sizes = [size * path.widening for size in data]
    groups = mv_groups(l2bm_sizes)
    indices = [l2bm_index(path, l1bm_index(held, part, size)) for part, size in zip(parts, data, strict=True)]
    images = [_dram_index(np.concatenate([indices[i] for i in group], axis=1), keep) for group in groups]
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
        _emit_mv(builder, keep, l2bm[g], dram, start, filled)
        start += filled * _halves(keep)
    return DramImage(dram, layout.shape, index, tuple(sorted({L >> 1 for L in keep})))


def _halves(keep: list[int]) -> int:
    """L2Bs per group that are stored (the same number in every group that takes part)."""
    return len({L & 1 for L in keep})


def _cost(path: Path, parts: list[list[PeStep]]) -> tuple[int, int]:
    size = sum(l1bm_size(path, part) for part in parts)
    return size * path.widening, sum(hop_steps(path, part) for part in parts)


def _dram_index(l2bm: Index, keep: list[int]) -> Index:
    """[L2B, k, word] as [group, DRAM long word, word]; groups that take no part hold nothing."""
    size = l2bm.shape[1]
    halves = _halves(keep)
    result = np.full((GROUPS, halves * size, 2), -1, np.int64)
    for L in keep:
        at = (L & 1) * size
        result[L >> 1, at : at + size] = l2bm[L]
    return result


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


def _emit_mv(builder: Builder, keep: list[int], l2bm: Buffer, dram: Buffer, start: int, size: int) -> None:
    halves = _halves(keep)
    groups = {L >> 1 for L in keep}
    for half in range(halves):
        target = start + half * size
        if len(groups) == GROUPS:
            builder.emit("mvp", [upper(l2bm, 0, l2b=half)], [upper(dram, target)], size=size)
            continue
        for g in sorted(groups):
            builder.emit("mvp", [upper(l2bm, 0, group=g, l2b=half)], [upper(dram, target, group=g)], size=size)
