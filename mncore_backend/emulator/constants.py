"""Rows whose contents never change: zeros, immediates, fixed values and fixed cycle masks."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.emulator.arena import CYCLES, Arena, Rows, arena_layout, row_bytes
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.kernels.jit import Kernel
from mnc.mncore_backend.emulator.l2bm import L2bmCopy
from mnc.mncore_backend.emulator.plan import Access, UpperAccess

OPERAND_LIMIT = 1 << 15
ELEMENT_BITS = {"d": 64, "l": 64, "f": 32, "g": 32, "i": 32, "h": 16, "s": 16, "": 64}


def repeat_element(value: int, bits: int) -> int:
    """A 64-bit pattern holding `value` in every element of `bits` bits."""
    value &= (1 << bits) - 1
    return sum(value << shift for shift in range(0, 64, bits))


class KnownStore(NamedTuple):
    """An unmasked store to unchanging rows; `word` selects the word of the long for a single word."""

    operand: Operand
    access: Access
    kernel: Kernel
    out: Rows
    word: tuple[int, ...] | None
    lsb_out: Rows


class KnownSource(NamedTuple):
    """A source whose rows do not change; `lsb_rows` are those of the LSB longs of a 2-long access."""

    operand: Operand
    access: Access
    rows: Rows
    lsb_rows: Rows


class KnownUpper(NamedTuple):
    """The L1BM side of a transfer: rows of its first and second long words, and what it accesses."""

    rows: tuple[Rows, Rows]
    accesses: tuple[UpperAccess, ...]


class Constants:
    """Owner of the buffers; a record refers to them by address."""

    def __init__(self) -> None:
        self._keep: dict[object, NDArray[Any]] = {}
        self.zero = self.splat(0)
        self.operand_rows: dict[int, KnownSource] = {}
        """Checked sources by identity of their record: the parser shares records of equal text."""
        self.stores: dict[int, KnownStore] = {}
        """Checked destinations, likewise."""
        self.uppers: dict[tuple[str, bool, int, bool], KnownUpper] = {}
        """Checked accesses to L1BM: family, whether 2-long, address, whether written."""
        self.l2bm_rows: dict[L2bmCopy, tuple[Rows, Rows]] = {}
        """Rows in L1BM and in L2BM of transfers between them."""

    def keep_store(self, store: KnownStore) -> None:
        """Remember where a destination with unchanging addresses lies."""
        if len(self.stores) >= OPERAND_LIMIT:
            self.stores.clear()
        self.stores[id(store.operand)] = store

    def keep_operand(self, source: KnownSource) -> None:
        """Remember where a source with unchanging addresses lies."""
        if len(self.operand_rows) >= OPERAND_LIMIT:
            self.operand_rows.clear()
        self.operand_rows[id(source.operand)] = source

    def rows_of_copy(self, copy: L2bmCopy, arena: Arena) -> tuple[Rows, Rows]:
        """Rows of a transfer in L1BM, and in L2BM, where the stride is that between L2Bs."""
        if copy not in self.l2bm_rows:
            if len(self.l2bm_rows) >= OPERAND_LIMIT:
                self.l2bm_rows.clear()
            near = arena.row_address("lb", 0) + 8 * copy.near
            far, pace = arena.l2bm_base + 8 * copy.far, 8 * copy.far_rate
            step = 8 * copy.near_rate
            near_rows = near, near + step, near + 2 * step, near + 3 * step, arena_layout().block_bytes
            stride = 8 * geometry().l2bm_longs
            self.l2bm_rows[copy] = near_rows, (far, far + pace, far + 2 * pace, far + 3 * pace, stride)
        return self.l2bm_rows[copy]

    def at(self, address: int, stride: int) -> NDArray[np.uint64]:
        """Contents [block or 1, PE] of constant rows by their address."""
        for array in self._keep.values():
            if array.dtype == np.uint64 and array.ctypes.data == address:
                return array.reshape(-1, geometry().pes) if stride else array[None]
        raise KeyError(address)

    def splat(self, pattern: int) -> Rows:
        """The same long in every PE, cycle and block."""
        if pattern not in self._keep:
            self._keep[pattern] = np.full(geometry().pes, pattern, np.uint64)
        address = self._keep[pattern].ctypes.data
        return (address, address, address, address, 0)

    def fixed(self, memory: Memory, precision: str) -> Rows:
        """``$l2bid`` and its kin (SDM 3.6.1): the integer once per element of the precision of the opcode (OPEN-13 for
        float precisions)."""
        bits = ELEMENT_BITS[precision]
        if memory is Memory.MSB1:
            return self.splat(repeat_element(1 << (bits - 1), bits))
        key = (memory, bits)
        if key not in self._keep:
            block, pe = np.indices((geometry().blocks, geometry().pes))
            values = {
                Memory.L2BID: block // geometry().l1bs_per_l2b,
                Memory.L1BID: block % geometry().l1bs_per_l2b,
                Memory.MABID: pe >> 2,
                Memory.PEID: pe,
                Memory.SUBPEID: pe & 3,
            }[memory]
            factor = np.uint64(repeat_element(1, bits))
            self._keep[key] = np.ascontiguousarray(values.astype(np.uint64) * factor)
        address = self._keep[key].ctypes.data
        return (address, address, address, address, row_bytes())

    def cycle_mask(self, cycles: tuple[bool, ...]) -> Rows:
        """Mask nibbles of a fixed pattern: 1111 in the cycles named, 0000 elsewhere (SDM 3.6.2)."""
        for enabled in (False, True):
            if ("nibble", enabled) not in self._keep:
                self._keep["nibble", enabled] = np.full(geometry().pes, 15 if enabled else 0, np.uint8)
        a, b, c, d = (self._keep["nibble", bool(cycles[cycle])].ctypes.data for cycle in range(CYCLES))
        return (a, b, c, d, 0)
