"""A large tensor behind a transfer that fills all L2BMs: DRAM need not wait until that has finished.

Two MVs into one L2BM follow each other with their latency (OPEN-38), so the two halves of a group, the even L2Bs and
the odd ones, take turns at its DRAM: one moves data while the latency of the other passes. Behind an MV into all L2BMs
both halves wait. During that latency a piece of the tensor goes to PDM, from where half 1 gets it while DRAM serves
half 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.machine import CYCLES_PER_STEP, GROUPS, MV_LATENCY_STEPS
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import Buffer, Builder, upper

_PER_STEP = 16 * CYCLES_PER_STEP
HALF_LATENCY = _PER_STEP * MV_LATENCY_STEPS
"""Long words that a half moves at 16 per cycle while the latency of the other passes."""
MOST = 5 * HALF_LATENCY
"""Long words of an L2BM that a tensor may take there as a whole."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What one MV brings to one half of every group: `size` long words of each of its L2BMs from `start` on."""

    half: int
    start: int
    size: int
    from_pdm: bool = False


def segments_behind(total: int, work: int) -> list[Segment]:
    """The MVs for a tensor of `total` long words of each L2BM, in the order of their issue; `work` is the number of PE
    steps that bring it on from there. Empty if halves that take turns in equal MVs from DRAM are as good."""
    if total > MOST:
        return []
    usual = [
        Segment(half, start, min(HALF_LATENCY, total - start))
        for start in range(0, total, HALF_LATENCY)
        for half in range(2)
    ]
    best = min(_candidates(total), key=lambda own: _finished(own, total, work), default=usual)
    return best if _finished(best, total, work) < _finished(usual, total, work) else []


def _candidates(total: int) -> Iterator[list[Segment]]:
    """Half 0 keeps DRAM busy until half 1 has got its piece from PDM; then they take turns, the last MV a short one."""
    eighth = HALF_LATENCY // 8 // MV_UNIT * MV_UNIT
    for ahead, long, last in product(range(eighth, HALF_LATENCY + 1, eighth), range(5), range(9)):
        first = min(2 * ahead + HALF_LATENCY + long * eighth, total)
        cut = max(ahead, total - last * eighth)
        if ahead < total:
            own = _cut(0, (first, total)), _cut(1, (ahead, cut, total))
            piece = Segment(1, 0, ahead, from_pdm=True)
            yield [own[0][0], piece, *own[1][1:2], *own[0][1:], *own[1][2:]]


def _cut(half: int, ends: Sequence[int]) -> list[Segment]:
    return [Segment(half, start, end - start) for start, end in pairwise((0, *ends)) if start < end]


def _finished(segments: Sequence[Segment], total: int, work: int) -> float:
    """Steps from the end of the transfer before until the tensor has been brought on, each part as soon as both halves
    have it. DRAM is free when that transfer has moved its data, one latency before its end."""
    free, dram, issue = [0.0, 0.0], 0.0, 0.0
    here: dict[Segment, float] = {}
    for segment in segments:
        data = segment.size / _PER_STEP
        issue = max(issue, free[segment.half], data if segment.from_pdm else 0)
        start = issue if segment.from_pdm else max(issue, dram)
        if not segment.from_pdm:
            dram = start + data
        here[segment] = free[segment.half] = start + data + MV_LATENCY_STEPS
    time = 0.0
    for start, end in pairwise(sorted({0, total, *(s.start for s in segments)})):
        arrival = max(when for s, when in here.items() if s.start <= start < s.start + s.size)
        time = max(time, arrival) + work * (end - start) / total
    return time


def emit_segments(builder: Builder, segments: Sequence[Segment], dram: Buffer, l2bm: Buffer, total: int) -> None:
    """Emit the MVs. In `dram` the halves lie behind each other, `total` long words each."""
    ahead: dict[Segment, Buffer] = {}
    for segment in segments:
        if segment.from_pdm:
            ahead[segment] = builder.temporary(segment.size, (Memory.PDM,), "ahead", alignment=MV_UNIT)
            for group in range(GROUPS):
                source = upper(dram, segment.half * total + segment.start, group=group)
                builder.emit("mvp", [source], [upper(ahead[segment], 0, group=group)], size=segment.size)
    for segment in segments:
        pdm = ahead.get(segment)
        source = upper(dram, segment.half * total + segment.start) if pdm is None else upper(pdm, 0)
        builder.emit("mvp", [source], [upper(l2bm, segment.start, l2b=segment.half)], size=segment.size)
