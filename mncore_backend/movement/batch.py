"""Loading several tensors: small ones share MVs.

MVs are issued at intervals. So tensors that fit beside each other come in one transfer per MV form, and a tensor may
take a finer form than it needs, with copies in DRAM, where that saves a transfer. One that is wanted after a large
tensor may ride in the last MV of that.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, zip_longest

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement.load import (
    Arrival,
    Load,
    dram_index,
    dram_per_l2bm,
    emit_arrived,
    emit_mv,
    prepare,
    segments,
)
from mnc.mncore_backend.movement.room import mv_slice, room
from mnc.mncore_backend.movement.staging import staging
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import Buffer, Builder
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import CYCLES_PER_STEP, Shape, cached_per_machine, chip

Finish = Callable[[], DramImage]
"""Emits what remains of a load and says how the tensor lies in DRAM."""

_FINER = {
    "mvb": ("mvb", "mvb4", "mvb2", "mvp"),
    "mvb4": ("mvb4", "mvp"),
    "mvb2": ("mvb2", "mvp"),
    "mvp": ("mvp",),
}


def _largest() -> int:
    """Long words of one L2BM: larger tensors keep transfers of their own."""
    return room(Memory.L2BM, 1, 4)


def _several() -> int:
    """Long words of one L2BM that each of several shared transfers fills at most, which wait there while other tensors
    pass. The only one of a program may fill `mv_slice`."""
    return room(Memory.L2BM, 1, 8)


@cached_per_machine()
def _longs_per_cycle() -> dict[str, float]:
    """Of one L2BM, by the form of the MV; mvp moves the L2Bs of a group one after the other (OPEN-48)."""
    found = {}
    for form in chip().mv_forms:
        if form.source is Shape.DRAM_ALL and form.opcode in _FINER:
            found[form.opcode] = MV_UNIT / form.data_cycles(MV_UNIT)
    return found | {"mvp": found["mvp"] / chip().l2bs_per_group}


def choose_forms(loads: Sequence[tuple[str, int]], rides: Sequence[tuple[str, int] | None] = ()) -> list[str | None]:
    """MV form of each load, given the coarsest form that serves it and its size in one L2BM (long words); None for one
    that rides in a transfer that happens anyway, whose form and its size there are those of `rides`."""
    options = [(_FINER[load[0]], load, ride) for load, ride in zip_longest(loads, rides)]
    rate, longs = _longs_per_cycle(), dram_per_l2bm()
    best: tuple[tuple[float, int], list[str | None]] | None = None
    for count in range(len(_FINER["mvb"]) + 1):
        for allowed in combinations(_FINER["mvb"], count):
            chosen: list[str | None] = [next((f for f in finer if f in allowed), None) for finer, _, _ in options]
            moved = [
                ride if own is None else (own, load[1]) for own, (_, load, ride) in zip(chosen, options, strict=True)
            ]
            parts = [part for part in moved if part is not None]
            if len(parts) < len(moved):
                continue
            cycles = chip().mv_issue_interval_steps * CYCLES_PER_STEP * len({own for own in chosen if own})
            cost = (
                cycles + sum(size / rate[form] for form, size in parts),
                sum(size * longs[form] for form, size in parts),
            )
            if best is None or cost < best[0]:
                best = cost, chosen
    assert best is not None  # every form may be promoted to mvp
    return best[1]


def _groups(arrivals: Sequence[Arrival]) -> list[list[int]]:
    """Numbers of loads that come together: in order, as many as a batch holds."""
    groups = list(_cut(arrivals, _largest(), mv_slice()))
    return groups if len(groups) < 2 else list(_cut(arrivals, _several(), _several()))


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
    arrivals = [prepare(builder, layout, buffer) for layout, buffer in requests]
    finishes: dict[int, Finish] = {}
    riders: dict[int, list[int]] = {}
    groups = _groups(arrivals)
    for number, group in enumerate(groups):
        # where there are several groups, a rider would wait in L2BM for long while other tensors pass
        hosts = _hosts(arrivals, group) if len(groups) == 1 else [None] * len(group)
        forms = choose_forms(
            [(arrivals[i].spread, arrivals[i].l2bm_total) for i in group],
            [
                h if h is None else (arrivals[h].spread, arrivals[i].l2bm_needed)
                for i, h in zip(group, hosts, strict=True)
            ],
        )
        own = [(i, form) for i, form in zip(group, forms, strict=True) if form is not None]
        if len(own) > 1:
            finishes.update(_Batch(builder, requests, arrivals, own, at_once=number == 0).finishes())
        for i, host, form in zip(group, hosts, forms, strict=True):
            if form is None and host is not None:
                riders.setdefault(host, []).append(i)
    alone = [i for i in range(len(arrivals)) if i not in finishes and not any(i in own for own in riders.values())]
    for i in alone:
        riding = [arrivals[j] for j in riders.get(i, [])]
        load = Load(builder, arrivals[i], riding)
        finishes[i] = load.finish
        finishes.update({j: partial(load.rider, n) for n, j in enumerate(riders.get(i, []))})
    return [finishes[i] for i in range(len(requests))]


def _hosts(arrivals: Sequence[Arrival], group: Sequence[int]) -> list[int | None]:
    """The large tensor before each load of a group whose last MV has room for it."""
    used: dict[int, int] = {}
    hosts: list[int | None] = []
    for i in group:
        large = (j for j in reversed(range(i)) if arrivals[j].l2bm_total > _largest())
        host = next((j for j in large if arrivals[j].spread in _FINER[arrivals[i].spread]), None)
        if host is not None and used.get(host, 0) + arrivals[i].l2bm_needed > _several():
            host = None
        hosts.append(host)
        if host is not None:
            used[host] = used.get(host, 0) + arrivals[i].l2bm_needed
    return hosts


class _Batch:
    """Loads that share transfers, which start with the first of them that is wanted, or at once."""

    def __init__(
        self,
        builder: Builder,
        requests: Sequence[tuple[Layout, Buffer]],
        arrivals: Sequence[Arrival],
        members: Sequence[tuple[int, str]],
        *,
        at_once: bool,
    ) -> None:
        self._start = partial(_batch, builder, requests, arrivals, members)
        self._group = [i for i, _ in members]
        self._started = self._start() if at_once else None

    def finishes(self) -> dict[int, Finish]:
        """What finishes each load, by its number."""
        return {number: partial(self._finish, number) for number in self._group}

    def _finish(self, number: int) -> DramImage:
        if self._started is None:
            self._started = self._start()
        return self._started[self._group.index(number)]()


def _batch(
    builder: Builder,
    requests: Sequence[tuple[Layout, Buffer]],
    arrivals: Sequence[Arrival],
    chosen: Sequence[tuple[int, str]],
) -> list[Finish]:
    finishes: dict[int, Finish] = {}
    for number, form in enumerate(dict.fromkeys(form for _, form in chosen)):
        members = [i for i, own in chosen if own == form]
        transfer = _Transfer(builder, form, sum(arrivals[i].l2bm_total for i in members))
        if number == 0:  # of the tensor wanted first; the others come when one of theirs is wanted
            transfer.start()
        start = 0
        for i in members:
            finishes[i] = _finisher(builder, requests[i][0], arrivals[i], transfer, start)
            start += arrivals[i].l2bm_total
    return [finishes[i] for i, _ in chosen]


class _Transfer:
    """An MV of `total` long words of each L2BM that several tensors share."""

    def __init__(self, builder: Builder, form: str, total: int) -> None:
        size = total * dram_per_l2bm()[form] // chip().groups
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
        emit_arrived(builder, arrival, transfer.start(), start)
        index = dram_index(np.concatenate([arrival.l2bm_index(i) for i in numbers], axis=1), form)
        places = segments(form, transfer.total, start, size)
        return DramImage(transfer.dram, layout.shape, np.asarray(index), tuple(range(chip().groups)), 0, places)

    return finish
