"""Layout of the local state of the chip: one block of rows per L1B.

A *block* is an L1B (L1Bs of an L2B * linear L2B + L1B). A *row* is 64 host-endian 64-bit long words, one per PE of the
block (PE = 4 * MAB + p); word k of a long (0 = MSB side) is therefore the 32-bit half 1 - k on a little-endian host. PE
memories are one row per long-word address, L1BM is stored linearly (64 long words to a row). With the block outermost,
everything an L1B needs lies in one slice, and a unit-stride operand of a step is contiguous.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.geometry import CYCLES, LATCH_UNITS, MASK_ENTRIES, PES, geometry
from mnc.mncore_backend.emulator.kernels import DECODED_BYTES
from mnc.mncore_backend.target import cached_per_machine

ROW_BYTES = PES * 8
DECODED_ROWS = -(-DECODED_BYTES // ROW_BYTES)
"""Rows of the decoded copy of a matrix bank."""
SCRATCH_OPERANDS = 24

Rows = tuple[int, int, int, int, int]
"""Addresses of the rows of cycles 0..3 in block 0, and the distance in bytes between blocks."""


@dataclass(frozen=True, slots=True)
class ArenaLayout:
    """First row and number of rows of every region, and rows of a block."""

    regions: dict[str, tuple[int, int]]
    rows: int

    @property
    def block_bytes(self) -> int:
        """Distance between blocks."""
        return self.rows * ROW_BYTES


@cached_per_machine()
def arena_layout() -> ArenaLayout:
    """Of the machine in use."""
    longs = geometry().longs
    sizes = {
        "m": longs[Memory.LM0],
        "n": longs[Memory.LM1],
        "r": longs[Memory.GRF0],
        "s": longs[Memory.GRF1],
        "t": 2 * CYCLES,  # entry c: MSB long in row c, LSB long in row 4 + c
        "lb": longs[Memory.L1BM] // PES,
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
    return ArenaLayout(layout, first)


@dataclass(slots=True)
class Arena:
    """The rows of all blocks, [block, row, PE 64] of uint64, aligned for vector loads, and the L2BMs beside them,
    [L2B, long word]."""

    rows: NDArray[np.uint64]
    base: int  # address of row 0 of block 0
    l2bm: NDArray[np.uint64]
    l2bm_base: int

    @classmethod
    def allocate(cls) -> "Arena":
        """A zero-filled arena; its pages are touched on first use."""
        blocks, own = geometry().blocks, arena_layout().rows
        count = blocks * own * PES
        flat = np.zeros(count + 8, dtype=np.uint64)
        skip = (-flat.ctypes.data % 64) // 8
        return cls.over(flat[skip : skip + count].reshape(blocks, own, PES))

    @classmethod
    def over(cls, rows: NDArray[np.uint64]) -> "Arena":
        """An arena of rows that exist, with L2BMs of its own, full of zeros."""
        l2bm = np.zeros((geometry().l2bs, geometry().l2bm_longs), dtype=np.uint64)
        return cls(rows, rows.ctypes.data, l2bm, l2bm.ctypes.data)

    def region(self, name: str) -> NDArray[np.uint64]:
        """Writable view [block, rows of the region, PE]."""
        first, count = arena_layout().regions[name]
        return self.rows[:, first : first + count]

    def row_address(self, name: str, row: int) -> int:
        """Address of a row of a region in block 0."""
        return self.base + (arena_layout().regions[name][0] + row) * ROW_BYTES

    def l1bm(self) -> NDArray[np.uint64]:
        """Writable view [block, long word] of the L1BMs."""
        first, count = arena_layout().regions["lb"]
        return self.rows.reshape(len(self.rows), -1)[:, first * PES : (first + count) * PES]

    def masks(self) -> NDArray[np.uint8]:
        """Writable view [block, entry 16, cycle, PE] of the mask nibbles; bit 0 of the manual counts 8."""
        first, count = arena_layout().regions["omr"]
        blocks = len(self.rows)
        bytes_ = self.rows.reshape(blocks, -1).view(np.uint8)[:, first * ROW_BYTES : (first + count) * ROW_BYTES]
        return bytes_.reshape(blocks, MASK_ENTRIES, CYCLES, PES)
