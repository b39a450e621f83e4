"""Loading several tensors: small ones share MVs.

An MV costs its latency whatever it moves, and two MVs into one L2BM follow each other (OPEN-38). So tensors that fit
beside each other come in one transfer per MV form, and a tensor may take a finer form than it needs, with copies in
DRAM, where that saves a transfer.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from mnc.mncore_backend import machine
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.machine import GROUPS
from mnc.mncore_backend.movement.image import DramImage
from mnc.mncore_backend.movement.load import (
    DRAM_PER_L2BM,
    Arrival,
    dram_index,
    emit_from_l2bm,
    emit_mv,
    plan_load,
    prepare,
)
from mnc.mncore_backend.movement.paths import l1bm_extent
from mnc.mncore_backend.movement.staging import alternating, staging
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import Buffer, Builder

Finish = Callable[[], DramImage]
"""Emits what remains of a load and says how the tensor lies in DRAM."""

LARGEST = 8192  # long words of one L2BM: larger tensors keep transfers of their own
BATCH = 12288  # long words of one L2BM that the only shared transfer of a program fills at most
SEVERAL = 4096  # of each of several, which wait in L2BM while other tensors pass
_FINER = {
    "mvb": ("mvb", "mvb4", "mvb2", "mvp"),
    "mvb4": ("mvb4", "mvp"),
    "mvb2": ("mvb2", "mvp"),
    "mvp": ("mvp",),
}
_LONGS_PER_CYCLE = {"mvb": 32, "mvb4": 16, "mvb2": 16, "mvp": 8}  # of one L2BM; mvp moves two halves (OPEN-48)


def _assignment_cost(sizes: dict[str, int]) -> tuple[float, int]:
    """Cycles of the transfers, then DRAM long words."""
    latency = machine.MV_LATENCY_STEPS * machine.CYCLES_PER_STEP
    cycles = sum(latency + size / _LONGS_PER_CYCLE[form] for form, size in sizes.items())
    return cycles, sum(size * DRAM_PER_L2BM[form] for form, size in sizes.items())


def choose_forms(loads: Sequence[tuple[str, int]]) -> list[str]:
    """MV form of each load, given the coarsest form that serves it and its size in one L2BM (long words)."""
    best: tuple[tuple[float, int], list[str]] | None = None
    forms = tuple(_FINER["mvb"])
    for count in range(1, len(forms) + 1):
        for allowed in combinations(forms, count):
            chosen = [next((f for f in _FINER[coarsest] if f in allowed), None) for coarsest, _ in loads]
            if None in chosen:
                continue
            sizes: dict[str, int] = {}
            for form, (_, size) in zip(chosen, loads, strict=True):
                assert form is not None
                sizes[form] = sizes.get(form, 0) + size
            cost = _assignment_cost(sizes)
            if best is None or cost < best[0]:
                best = cost, [form for form in chosen if form is not None]
    assert best is not None  # every form may be promoted to mvp
    return best[1]


def _groups(arrivals: Sequence[Arrival]) -> list[list[int]]:
    """Numbers of loads that come together: in order, as many as a batch holds."""
    groups = list(_cut(arrivals, LARGEST, BATCH))
    return groups if len(groups) < 2 else list(_cut(arrivals, SEVERAL, SEVERAL))


def _cut(arrivals: Sequence[Arrival], largest: int, batch: int) -> Iterator[list[int]]:
    current: list[int] = []
    filled = 0
    for i, arrival in enumerate(arrivals):
        if arrival.l2bm_total > largest:
            continue
        if current and filled + arrival.l2bm_total > batch:
            yield current
            current, filled = [], 0
        current.append(i)
        filled += arrival.l2bm_total
    if current:
        yield current


def plan_loads(builder: Builder, requests: Sequence[tuple[Layout, Buffer]]) -> list[Finish]:
    """Start the loads of several tensors; each is finished, in any order, by calling what is returned for it.

    The first shared transfer is emitted at once, others when one of their tensors is wanted, everything else by the
    calls.
    """
    arrivals = [prepare(layout, buffer) for layout, buffer in requests]
    finishes: dict[int, Finish] = {}
    for number, group in enumerate(_groups(arrivals)):
        if len(group) > 1:
            finishes.update(_Batch(builder, requests, arrivals, group, at_once=number == 0).finishes)
    return [
        finishes.get(i) or (lambda layout=layout, buffer=buffer: plan_load(builder, layout, buffer))
        for i, (layout, buffer) in enumerate(requests)
    ]


class _Batch:
    """Loads that share transfers, which start with the first of them that is wanted, or at once."""

    def __init__(
        self,
        builder: Builder,
        requests: Sequence[tuple[Layout, Buffer]],
        arrivals: Sequence[Arrival],
        group: Sequence[int],
        *,
        at_once: bool,
    ) -> None:
        self._start = lambda: _batch(builder, requests, arrivals, group)
        self._group = group
        self._started = self._start() if at_once else None
        self.finishes: dict[int, Finish] = {i: (lambda i=i: self._finish(i)) for i in group}

    def _finish(self, number: int) -> DramImage:
        if self._started is None:
            self._started = self._start()
        return self._started[self._group.index(number)]()


def _batch(
    builder: Builder, requests: Sequence[tuple[Layout, Buffer]], arrivals: Sequence[Arrival], group: Sequence[int]
) -> list[Finish]:
    forms = choose_forms([(arrivals[i].spread, arrivals[i].l2bm_total) for i in group])
    finishes: dict[int, Finish] = {}
    for number, form in enumerate(dict.fromkeys(forms)):
        members = [i for i, own in zip(group, forms, strict=True) if own == form]
        transfer = _Transfer(builder, form, sum(arrivals[i].l2bm_total for i in members))
        if number == 0:  # of the tensor wanted first; the others come when one of theirs is wanted
            transfer.start()
        start = 0
        for i in members:
            finishes[i] = _finisher(builder, requests[i][0], arrivals[i], transfer, start)
            start += arrivals[i].l2bm_total
    return [finishes[i] for i in group]


class _Transfer:
    """An MV of `total` long words of each L2BM that several tensors share."""

    def __init__(self, builder: Builder, form: str, total: int) -> None:
        size = total * DRAM_PER_L2BM[form] // GROUPS
        self.form, self.total = form, total
        self.dram = builder.program.buffer("images", size, (Memory.DRAM,), alignment=MV_UNIT, pinned=True)
        self._builder = builder
        self._l2bm: Buffer | None = None

    def start(self) -> Buffer:
        """Emit the transfer unless that has been done; returns where the data arrive."""
        if self._l2bm is None:
            self._l2bm = staging(self._builder, Memory.L2BM, self.total, "shared")
            emit_mv(self._builder, self.form, self.dram, 0, self._l2bm, self.total)
        return self._l2bm


def _finisher(builder: Builder, layout: Layout, arrival: Arrival, transfer: _Transfer, start: int) -> Finish:
    size = arrival.l2bm_total
    numbers = range(len(arrival.parts))
    form = transfer.form

    def finish() -> DramImage:
        l2bm = transfer.start()
        extents = [l1bm_extent(arrival.path, part) for part in arrival.parts]
        l1bm = alternating(builder, Memory.L1BM, extents, "down")
        at = start
        for i in numbers:
            emit_from_l2bm(builder, arrival, i, l2bm, at, l1bm[i])
            at += arrival.l2bm_size(i)
        index = dram_index(np.concatenate([arrival.l2bm_index(i) for i in numbers], axis=1), form)
        if form == "mvp":  # the halves of all tensors lie behind each other
            segments = ((start, size), (transfer.total + start, size))
        else:
            segments = ((start * DRAM_PER_L2BM[form] // GROUPS, index.shape[1]),)
        return DramImage(transfer.dram, layout.shape, np.asarray(index), tuple(range(GROUPS)), 0, segments)

    return finish
