"""Write masks and zero-flush masks: from their spelling to what a store needs (SDM 3.6.2)."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Mask
from mnc.mncore_backend.emulator.geometry import CYCLES

ALL_CYCLES = (True, True, True, True)


class ResolvedMask(NamedTuple):
    """`cycles` for a fixed pattern, or `entry` of a mask register (1..15) read at run time."""

    cycles: tuple[bool, ...]
    entry: int | None
    two_long: bool

    @property
    def is_open(self) -> bool:
        """Does the mask let everything through?"""
        return self.entry is None and all(self.cycles)


OPEN_MASK = ResolvedMask(ALL_CYCLES, None, False)


@cache
def resolve_entry(entry: int, two_long: bool) -> ResolvedMask:
    """Mask register entry 0..31: 0 and 31 are all ones, 16 + p a fixed pattern, 1..15 writable. Raises ValueError for
    an entry that does not exist."""
    if entry > 31:
        raise ValueError(f"mask register entry {entry} does not exist; entries are 0 to 31")
    if entry in (0, 31):
        return ResolvedMask(ALL_CYCLES, None, two_long)
    if entry >= 16:
        return ResolvedMask(tuple(bool((entry - 16) >> (3 - c) & 1) for c in range(CYCLES)), None, two_long)
    return ResolvedMask(ALL_CYCLES, entry, two_long)


@cache
def resolve(mask: Mask) -> ResolvedMask:
    """A mask as written: ``/1000``, ``/$imr3`` and their ``ll`` forms."""
    if mask.entry is not None:
        return resolve_entry(mask.entry, mask.two_long)
    return ResolvedMask(tuple(digit == "1" for digit in mask.pattern or "1111"), None, mask.two_long)


def _table(two_long: bool) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Bits of the MSB and the LSB long that each nibble lets through."""
    msb, lsb = np.zeros(16, np.uint64), np.zeros(16, np.uint64)
    half, word = (1 << 16) - 1, (1 << 32) - 1
    for nibble in range(16):
        bits = [nibble >> (3 - k) & 1 for k in range(4)]
        if two_long:
            msb[nibble] = sum((word << (32 * (1 - k))) * bits[k] for k in range(2))
            lsb[nibble] = sum((word << (32 * (1 - k))) * bits[2 + k] for k in range(2))
        else:
            msb[nibble] = sum((half << (16 * (3 - k))) * bits[k] for k in range(4))
            lsb[nibble] = (1 << 64) - 1
    return msb, lsb


_TABLES = {two_long: _table(two_long) for two_long in (False, True)}


def bits_of(nibbles: NDArray[np.uint8], two_long: bool) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """What nibbles govern: bit masks of the MSB long and of the LSB long (SDM 3.6.2)."""
    msb, lsb = _TABLES[two_long]
    return msb[nibbles], lsb[nibbles]
