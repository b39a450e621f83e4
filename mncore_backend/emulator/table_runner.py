"""Runs the collected kernel calls block-major on threads that own disjoint blocks, while decoding goes on."""

import os
from array import array
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.l2bm import L2bmPlan
from mnc.mncore_backend.emulator.mv import MvPlan
from mnc.mncore_backend.emulator.plan import Plan

SMALLEST_SHARED_TABLE = 24
"""Kernel calls below which handing blocks to other threads costs more than it saves."""
FIRST_SEGMENT, LARGEST_SEGMENT = 1 << 13, 1 << 17
"""Effort after which a segment is handed over. A block does not fit into the cache of a processor, and every segment
fetches it again, so segments should be long. But workers should begin soon: the first one behind a flush is short, and
each is `GROWTH` times as long as the one before. A kernel call counts 1, and `NEW` if its step was made for it."""
GROWTH = 4
NEW = 8
LARGEST_BACKLOG = 4


_UNIT = 16
"""Long words of L2BM that are told apart."""


def _units(first: int, count: int) -> int:
    """A bit for every unit of L2BM that a range touches."""
    low, high = first // _UNIT, (first + count - 1) // _UNIT
    return ((1 << (high - low + 1)) - 1) << low


class TableRunner:
    """Pending kernel calls. A segment of calls is handed to one worker per share of the blocks; every worker runs its
    segments in order, so nothing is waited for until somebody needs results (`flush`).

    Blocks are independent but for L2BM, which the eight blocks of an L2B share. They belong to the same worker, which
    takes one after the other through a segment. So within a segment nothing of L2BM is both written and otherwise used.
    """

    def __init__(self, threads: int | None = None) -> None:
        threads = min(threads or min(2, os.cpu_count() or 1), geometry().l2bs)
        bounds = [i * geometry().l2bs // threads * (geometry().blocks // geometry().l2bs) for i in range(threads + 1)]
        self._ranges = list(pairwise(bounds))
        self._read = self._written = 0  # of L2BM in the segment
        self._read_before = self._written_before = 0  # and in segments that may not have been run
        self._workers = [ThreadPoolExecutor(1, f"emulator-{i}") for i in range(threads)] if threads > 1 else []
        self._backlog: deque[tuple[list[Future[None]], object]] = deque()
        self._pending = array("q")
        self._alive: list[object] = []
        self._effort, self._enough = 0, FIRST_SEGMENT

    def add(self, table: "array[int]", owner: object) -> None:
        """Append kernel calls: addresses of a kernel and of its record in turns; `owner` keeps the records alive."""
        if table:
            self._pending.extend(table)
            self._alive.append(owner)

    def add_plan(self, plan: Plan) -> None:
        """Append the kernel calls of a plan and hand a full segment over."""
        self.add(plan.table, plan)
        calls = len(plan.table) >> 1
        if plan.is_new:
            plan.is_new = False
            calls *= NEW
        self._effort += calls
        if self._effort >= self._enough:
            self._hand_over()
            self._enough = min(GROWTH * self._enough, LARGEST_SEGMENT)

    def claim(self, copy: L2bmPlan) -> None:
        """Note what the plan to be added next reads or writes of L2BM."""
        assert copy.l2bm is not None  # a kernel copies from there or to there
        first, count, write = copy.l2bm
        units = _units(first, count)
        if units & (self._written | self._read if write else self._written) and self._pending:
            self._hand_over()
        if write:
            self._written |= units
        else:
            self._read |= units

    def uses(self, transfer: MvPlan) -> bool:
        """May pending calls use long words of L2BM that a transfer changes, or change those that it uses?"""
        written = self._written | self._written_before
        used = written | self._read | self._read_before
        for runs, units in ((transfer.reads, written), (transfer.writes, used)):
            if units and any(memory is Memory.L2BM and units & _units(at, n) for memory, _, at, n in runs):
                return True
        return False

    def _hand_over(self) -> None:
        self._read_before |= self._read
        self._written_before |= self._written
        self._read = self._written = 0
        table = np.frombuffer(self._pending, np.int64).reshape(-1, 2)
        alive, self._pending, self._alive = self._alive, array("q"), []
        self._effort = 0
        if not self._workers:
            kernels.run_table(table, 0, geometry().blocks)
            return
        if len(table) < SMALLEST_SHARED_TABLE:
            self._drain()
            kernels.run_table(table, 0, geometry().blocks)
            return
        while len(self._backlog) >= LARGEST_BACKLOG:
            self._wait_for_oldest()
        futures = [
            worker.submit(kernels.run_table, table, first, last)
            for worker, (first, last) in zip(self._workers, self._ranges, strict=True)
        ]
        self._backlog.append((futures, (table, alive)))

    def _wait_for_oldest(self) -> None:
        futures, _ = self._backlog.popleft()
        for future in futures:
            future.result()

    def _drain(self) -> None:
        while self._backlog:
            self._wait_for_oldest()

    def flush(self) -> None:
        """Return when everything pending has run."""
        if self._pending:
            self._hand_over()
        self._drain()
        self._enough = FIRST_SEGMENT
        self._read_before = self._written_before = 0
