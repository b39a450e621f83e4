"""Runs the collected kernel calls block-major, on two threads that split the blocks."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.geometry import BLOCKS
from mnc.mncore_backend.emulator.plan import Plan

SMALLEST_SHARED_TABLE = 24
"""Kernel calls below which handing half of the blocks to another thread costs more than it saves."""
LARGEST_TABLE = 8192


class TableRunner:
    """Pending kernel calls; `flush` runs them. Blocks are independent, so threads split them."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or min(2, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self.threads - 1, "emulator") if self.threads > 1 else None
        self._tables: list[NDArray[np.int64]] = []
        self._alive: list[object] = []
        self._rows = 0

    def add(self, table: NDArray[np.int64], owner: object) -> None:
        """Append kernel calls; `owner` keeps their records alive."""
        if len(table):
            self._tables.append(table)
            self._alive.append(owner)
            self._rows += len(table)

    def add_plan(self, plan: Plan) -> None:
        """Append the kernel calls of a plan."""
        self.add(plan.table, plan)

    @property
    def is_full(self) -> bool:
        """Are enough calls pending that they should run?"""
        return self._rows >= LARGEST_TABLE

    def flush(self) -> bool:
        """Run what is pending; false if there was nothing."""
        if not self._rows:
            return False
        table = np.concatenate(self._tables) if len(self._tables) > 1 else np.ascontiguousarray(self._tables[0])
        alive, self._tables, self._alive, self._rows = self._alive, [], [], 0
        if self._pool is None or len(table) < SMALLEST_SHARED_TABLE:
            kernels.run_table(table, 0, BLOCKS)
        else:
            middle = BLOCKS // 2
            other = self._pool.submit(kernels.run_table, table, middle, BLOCKS)
            kernels.run_table(table, 0, middle)
            other.result()
        del alive
        return True
