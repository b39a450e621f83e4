"""Runs the collected kernel calls block-major on threads that own disjoint blocks, while decoding goes on."""

import os
from array import array
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.geometry import BLOCKS
from mnc.mncore_backend.emulator.plan import Plan

SMALLEST_SHARED_TABLE = 24
"""Kernel calls below which handing blocks to other threads costs more than it saves."""
SEGMENT_ROWS = 4000
"""Kernel calls after which a segment is handed over: long segments use the cache of a block best."""
LARGEST_BACKLOG = 4


class TableRunner:
    """Pending kernel calls. A segment of calls is handed to one worker per share of the blocks; blocks are independent
    and every worker runs its segments in order, so nothing is waited for until somebody needs results (`flush`)."""

    def __init__(self, threads: int | None = None) -> None:
        threads = threads or min(2, os.cpu_count() or 1)
        share = BLOCKS // threads
        self._ranges = [(i * share, BLOCKS if i == threads - 1 else (i + 1) * share) for i in range(threads)]
        self._workers = [ThreadPoolExecutor(1, f"emulator-{i}") for i in range(threads)] if threads > 1 else []
        self._backlog: deque[tuple[list[Future[None]], object]] = deque()
        self._pending = array("q")
        self._alive: list[object] = []

    def add(self, table: "array[int]", owner: object) -> None:
        """Append kernel calls: addresses of a kernel and of its record in turns; `owner` keeps the records alive."""
        if table:
            self._pending.extend(table)
            self._alive.append(owner)

    def add_plan(self, plan: Plan) -> None:
        """Append the kernel calls of a plan and hand a full segment over."""
        self.add(plan.table, plan)
        if len(self._pending) >= 2 * SEGMENT_ROWS:
            self._hand_over()

    def _hand_over(self) -> None:
        table = np.frombuffer(self._pending, np.int64).reshape(-1, 2)
        alive, self._pending, self._alive = self._alive, array("q"), []
        if not self._workers:
            kernels.run_table(table, 0, BLOCKS)
            return
        if len(table) < SMALLEST_SHARED_TABLE:
            self._drain()
            kernels.run_table(table, 0, BLOCKS)
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
