"""Layout of the local state of the chip: one block of rows per L1B.

A *block* is an L1B (0..63 = 8 * linear L2B + L1B). A *row* is 64 host-endian 64-bit long words, one per PE of the block
(PE = 4 * MAB + p); word k of a long (0 = MSB side) is therefore the 32-bit half 1 - k on a little-endian host. PE
memories are one row per long-word address, L1BM is stored linearly (64 long words to a row). With the block outermost,
everything an L1B needs lies in one slice, and a unit-stride operand of a step is contiguous.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.emulator.geometry import (
    BLOCKS,
    CYCLES,
    L1BM_LONGS,
    L2BM_LONGS,
    L2BS,
    LATCH_UNITS,
    LOCAL_LONGS,
    MASK_ENTRIES,
    PES,
    REGISTER_LONGS,
)
from mnc.mncore_backend.emulator.kernels import DECODED_BYTES

ROW_BYTES = PES * 8
DECODED_ROWS = -(-DECODED_BYTES // ROW_BYTES)
"""Rows of the decoded copy of a matrix bank."""
SCRATCH_OPERANDS = 24

Rows = tuple[int, int, int, int, int]
"""Addresses of the rows of cycles 0..3 in block 0, and the distance in bytes between blocks."""


def _layout() -> tuple[dict[str, tuple[int, int]], int]:
    sizes = {
        "m": LOCAL_LONGS,
        "n": LOCAL_LONGS,
        "r": REGISTER_LONGS,
        "s": REGISTER_LONGS,
        "t": 2 * CYCLES,  # entry c: MSB long in row c, LSB long in row 4 + c
        "lb": L1BM_LONGS // PES,
        "omr": MASK_ENTRIES * CYCLES // 8,  # 64 bytes per entry and cycle: eight of them in a row
        "bar": 2,
        "x": 16,
        "y": 16,
        "decoded_x": DECODED_ROWS,
        "decoded_y": DECODED_ROWS,
        "latch": LATCH_UNITS * 2 * 2 * CYCLES,  # per unit two buffers of an MSB and an LSB part
        "lbi": 2 * CYCLES,  # two buffers of 256 long words
        "scratch": SCRATCH_OPERANDS * CYCLES,
        "trash": CYCLES,
        "fault": 1,
    }
    first, layout = 0, {}
    for name, rows in sizes.items():
        layout[name] = (first, rows)
        first += rows
    return layout, first


LAYOUT, ROWS = _layout()
BLOCK_BYTES = ROWS * ROW_BYTES


@dataclass(slots=True)
class Arena:
    """The rows of all blocks, [block 64, row, PE 64] of uint64, aligned for vector loads, and the L2BMs beside them,
    [L2B 8, long word 32768]."""

    rows: NDArray[np.uint64]
    base: int  # address of row 0 of block 0
    l2bm: NDArray[np.uint64]
    l2bm_base: int

    @classmethod
    def allocate(cls) -> "Arena":
        """A zero-filled arena; its pages are touched on first use."""
        count = BLOCKS * ROWS * PES
        flat = np.zeros(count + 8, dtype=np.uint64)
        skip = (-flat.ctypes.data % 64) // 8
        return cls.over(flat[skip : skip + count].reshape(BLOCKS, ROWS, PES))

    @classmethod
    def over(cls, rows: NDArray[np.uint64]) -> "Arena":
        """An arena of rows that exist, with L2BMs of its own, full of zeros."""
        l2bm = np.zeros((L2BS, L2BM_LONGS), dtype=np.uint64)
        return cls(rows, rows.ctypes.data, l2bm, l2bm.ctypes.data)

    def region(self, name: str) -> NDArray[np.uint64]:
        """Writable view [block, rows of the region, PE]."""
        first, count = LAYOUT[name]
        return self.rows[:, first : first + count]

    def row_address(self, name: str, row: int) -> int:
        """Address of a row of a region in block 0."""
        return self.base + (LAYOUT[name][0] + row) * ROW_BYTES

    def l1bm(self) -> NDArray[np.uint64]:
        """Writable view [block, 8192] of the L1BMs."""
        first, count = LAYOUT["lb"]
        return self.rows.reshape(BLOCKS, -1)[:, first * PES : (first + count) * PES]

    def masks(self) -> NDArray[np.uint8]:
        """Writable view [block, entry 16, cycle, PE] of the mask nibbles; bit 0 of the manual counts 8."""
        first, count = LAYOUT["omr"]
        bytes_ = self.rows.reshape(BLOCKS, -1).view(np.uint8)[:, first * ROW_BYTES : (first + count) * ROW_BYTES]
        return bytes_.reshape(BLOCKS, MASK_ENTRIES, CYCLES, PES)
