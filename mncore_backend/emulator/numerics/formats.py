"""Floating-point formats: half, single and double patterns and the exact numbers they stand for (SDM 1.3, 4.2)."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A format with sign, exponent and mantissa fields; only normal numbers, zeros and infinities exist."""

    letter: str
    exponent_bits: int
    mantissa_bits: int

    @property
    def bits(self) -> int:
        """Width of a pattern."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def top(self) -> int:
        """The exponent field of infinities: all ones."""
        return (1 << self.exponent_bits) - 1

    def sign(self, x: int) -> int:
        """Sign bit, 0 or 1."""
        return x >> (self.bits - 1)

    def exponent(self, x: int) -> int:
        """Exponent field."""
        return (x >> self.mantissa_bits) & self.top

    def mantissa(self, x: int) -> int:
        """Mantissa field."""
        return x & ((1 << self.mantissa_bits) - 1)

    def pack(self, sign: int, exponent: int, mantissa: int) -> int:
        """Pattern of the three fields."""
        return (sign << (self.bits - 1)) | (exponent << self.mantissa_bits) | mantissa

    def is_zero(self, x: int) -> bool:
        """Exponent field 0: zero whatever the mantissa is."""
        return self.exponent(x) == 0

    def is_infinite(self, x: int) -> bool:
        """Exponent field all ones: infinite whatever the mantissa is."""
        return self.exponent(x) == self.top

    def infinity(self, sign: int) -> int:
        """Canonical infinity."""
        return self.pack(sign, self.top, 0)

    def significand(self, x: int) -> int:
        """Mantissa with its hidden bit; 0 for zeros."""
        return 0 if self.is_zero(x) else (1 << self.mantissa_bits) | self.mantissa(x)


HALF = Format("h", 6, 9)
SINGLE = Format("f", 8, 23)
DOUBLE = Format("d", 11, 52)
FORMATS = {"h": HALF, "f": SINGLE, "g": SINGLE, "d": DOUBLE}
LANE_BITS = {"h": 16, "s": 16, "f": 32, "g": 32, "i": 32, "d": 64, "l": 64}


@dataclass(frozen=True)
class Exact:
    """The number `integer` * 2**`scale`, of any size."""

    integer: int
    scale: int = 0

    def __add__(self, other: "Exact") -> "Exact":
        scale = min(self.scale, other.scale)
        return Exact((self.integer << (self.scale - scale)) + (other.integer << (other.scale - scale)), scale)


def value(form: Format, x: int) -> Exact:
    """Exact value of a finite pattern; the caller has dealt with infinities."""
    magnitude = form.significand(x)
    return Exact(-magnitude if form.sign(x) else magnitude, form.exponent(x) - form.bias - form.mantissa_bits)


def elements(long: int, bits: int) -> list[int]:
    """Elements of a 64-bit long, first at the MSB side."""
    return [(long >> shift) & ((1 << bits) - 1) for shift in range(64 - bits, -1, -bits)]


def join(parts: Sequence[int], bits: int) -> int:
    """The long holding `parts`, first at the MSB side, missing ones zero."""
    long = 0
    for index, part in enumerate(parts):
        long |= part << (64 - bits * (index + 1))
    return long
