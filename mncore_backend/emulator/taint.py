"""Poison of values in strict mode: which half words of a long word come from words that nobody wrote.

Four bits per long word, bit 3 for the half at the MSB side. An element is poisoned as a whole, so the poison of an
input spreads over the element that it takes part in: `BY_LONG`, `BY_WORD`, or half by half.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.emulator.geometry import CYCLES, geometry
from mnc.mncore_backend.target import cached_per_machine

Nibbles = NDArray[Any]
"""Four bits in a byte (uint8)."""
Origin = tuple[int, str]
"""Line in which a word that nobody wrote was read first, and its name."""

HIGH, LOW, FULL = np.uint8(12), np.uint8(3), np.uint8(15)


@cached_per_machine()
def clean() -> Nibbles:
    """No poison, [block, cycle, PE]. Shared between callers: read only."""
    return np.zeros((geometry().blocks, CYCLES, geometry().pes), np.uint8)


class Taint(NamedTuple):
    """Poison of a 2-long, [block, cycle, PE] per long word."""

    msb: Nibbles
    lsb: Nibbles
    origin: Origin | None = None

    @property
    def is_clean(self) -> bool:
        """Is nothing of the value poisoned?"""
        return not (self.msb.any() or self.lsb.any())


def _table(entry: Callable[[int], int]) -> Nibbles:
    return np.array([entry(n) for n in range(16)], np.uint8)


BY_LONG = _table(lambda n: 15 if n else 0)
BY_WORD = _table(lambda n: (12 if n & 12 else 0) | (3 if n & 3 else 0))
BY_HALF = _table(lambda n: n)
SMEAR = {"d": BY_LONG, "l": BY_LONG, "f": BY_WORD, "g": BY_WORD, "i": BY_WORD, "h": BY_HALF, "s": BY_HALF, "": BY_HALF}
"""Poison of the elements of a precision."""

HALVES_OF_WORDS = _table(lambda n: (2 if n & 12 else 0) | (1 if n & 3 else 0))
"""Two words rounded to two halves, at the LSB side."""
WORDS_OF_HIGH_HALVES = _table(lambda n: (12 if n & 8 else 0) | (3 if n & 4 else 0))
WORDS_OF_LOW_HALVES = _table(lambda n: (12 if n & 2 else 0) | (3 if n & 1 else 0))
LONG_OF_HIGH_WORD = _table(lambda n: 15 if n & 12 else 0)


PATTERNS = np.array(
    [sum(0xFFFF << (16 * bit) for bit in range(4) if nibble >> bit & 1) for nibble in range(16)], np.uint64
)
"""Long words with ones in the poisoned halves."""


def unpoisoned() -> Taint:
    """No poison."""
    return Taint(clean(), clean())


def four_halves(msb: Nibbles, lsb: Nibbles) -> Nibbles:
    """Four singles of a 2-long rounded to the four halves of a long."""
    return (HALVES_OF_WORDS[msb] << 2) | HALVES_OF_WORDS[lsb]


def narrowed(value: Taint) -> Taint:
    """Suffix ``r`` of an input."""
    return Taint(four_halves(value.msb, value.lsb), clean(), value.origin)


def widened(value: Taint, expected: str) -> Taint:
    """Suffix ``e``: "hf" from four halves to four singles, "d" from a single, "f" and "g" from two halves."""
    if expected == "hf":
        return Taint(WORDS_OF_HIGH_HALVES[value.msb], WORDS_OF_LOW_HALVES[value.msb], value.origin)
    table = LONG_OF_HIGH_WORD if expected == "d" else WORDS_OF_HIGH_HALVES
    return Taint(table[value.msb], clean(), value.origin)


def governed(nibbles: Nibbles, two_long: bool) -> tuple[Nibbles, Nibbles]:
    """Halves of the MSB and the LSB long that mask bits govern (SDM 3.6.2)."""
    if two_long:
        return WORDS_OF_HIGH_HALVES[nibbles], WORDS_OF_LOW_HALVES[nibbles]
    return nibbles, np.zeros_like(nibbles)


def reduce_stage(precision: str, stacked: Nibbles) -> Nibbles:
    """Poison of a reduction over the first axis."""
    return SMEAR[precision][np.bitwise_or.reduce(stacked, axis=0)]
