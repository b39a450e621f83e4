"""Layout of the local state of the chip: one block of rows per L1B.

A *block* is an L1B (L1Bs of an L2B * linear L2B + L1B). A *row* is a host-endian 64-bit long word for each PE of the
block, 64 of them on MN-Core 2 (PE = 4 * MAB + p); word k of a long (0 = MSB side) is therefore the 32-bit half 1 - k on
a little-endian host. PE memories are one row per long-word address, L1BM is stored linearly (as many long words to a
row as there are PEs). With the block outermost, everything an L1B needs lies in one slice, and a unit-stride operand of
a step is contiguous.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.geometry import CYCLES, LATCH_UNITS, MASK_ENTRIES, geometry
from mnc.mncore_backend.emulator.kernels import decoded_bytes
from mnc.mncore_backend.target import cached_per_machine

SCRATCH_OPERANDS = 24

Rows = tuple[int, int, int, int, int]
"""Addresses of the rows of cycles 0..3 in block 0, and the distance in bytes between blocks."""


def row_bytes() -> int:
    """Bytes of a row."""
    return 8 * geometry().pes


@dataclass(frozen=True, slots=True)
class ArenaLayout:
    """First row and number of rows of every region, and rows of a block."""

    regions: dict[str, tuple[int, int]]
    rows: int

    @property
    def block_bytes(self) -> int:
        """Distance between blocks."""
        return self.rows * row_bytes()


@cached_per_machine()
def arena_layout() -> ArenaLayout:
    """Of the machine in use."""
    longs, decoded_rows = geometry().longs, -(-decoded_bytes() // row_bytes())
    sizes = {
        "m": longs[Memory.LM0],
        "n": longs[Memory.LM1],
        "r": longs[Memory.GRF0],
        "s": longs[Memory.GRF1],
        "t": 2 * CYCLES,  # entry c: MSB long in row c, LSB long in row 4 + c
        "lb": longs[Memory.L1BM] // geometry().pes,
        "omr": MASK_ENTRIES * CYCLES // 8,  # a byte per PE, entry and cycle: eight times that in a row
        "bar": 2,
        "x": 16,
        "y": 16,
        "decoded_x": decoded_rows,
        "decoded_y": decoded_rows,
        "latch": LATCH_UNITS * 2 * 2 * CYCLES,  # per unit two buffers of an MSB and an LSB part
        "lbi": 2 * CYCLES,  # two buffers of a long word per PE and cycle
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
        count = blocks * own * geometry().pes
        flat = np.zeros(count + 8, dtype=np.uint64)
        skip = (-flat.ctypes.data % 64) // 8
        return cls.over(flat[skip : skip + count].reshape(blocks, own, geometry().pes))

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
        return self.base + (arena_layout().regions[name][0] + row) * row_bytes()

    def l1bm(self) -> NDArray[np.uint64]:
        """Writable view [block, long word] of the L1BMs."""
        first, count = arena_layout().regions["lb"]
        return self.rows.reshape(len(self.rows), -1)[:, first * geometry().pes : (first + count) * geometry().pes]

    def masks(self) -> NDArray[np.uint8]:
        """Writable view [block, entry 16, cycle, PE] of the mask nibbles; bit 0 of the manual counts 8."""
        first, count = arena_layout().regions["omr"]
        blocks = len(self.rows)
        bytes_ = self.rows.reshape(blocks, -1).view(np.uint8)[:, first * row_bytes() : (first + count) * row_bytes()]
        return bytes_.reshape(blocks, MASK_ENTRIES, CYCLES, geometry().pes)
