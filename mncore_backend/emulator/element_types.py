"""Types by which a testcase reads the bits of dumped long words, MSB element first (names of the vendor's judge)."""

import math
from dataclasses import dataclass

Number = int | float


@dataclass(frozen=True, slots=True)
class ElementType:
    """Width in bits and how the bits are read: an integer with or without a sign, or a float with an exponent field of
    so many bits. In floats an exponent of 0 is a zero and all ones an infinity, whatever the mantissa."""

    width: int
    signed: bool = False
    exponent_bits: int = 0

    @property
    def is_float(self) -> bool:
        """Is it a floating-point type?"""
        return self.exponent_bits > 0

    @property
    def ones(self) -> int:
        """A pattern of ones."""
        return (1 << self.width) - 1

    def shifts(self, size: int) -> range:
        """Distances of the elements from the LSB of a container of `size` bits, MSB element first."""
        return range(size - self.width, -1, -self.width)

    def value(self, pattern: int) -> Number:
        """The number of a pattern."""
        if not self.is_float:
            return pattern - (1 << self.width) if self.signed and pattern >> (self.width - 1) else pattern
        fraction_bits = self.width - 1 - self.exponent_bits
        sign = -1.0 if pattern >> (self.width - 1) else 1.0
        top = (1 << self.exponent_bits) - 1
        exponent = pattern >> fraction_bits & top
        if exponent in (0, top):
            return sign * (math.inf if exponent else 0.0)
        fraction = (1 << fraction_bits) | (pattern & ((1 << fraction_bits) - 1))
        return sign * math.ldexp(fraction, exponent - (top >> 1) - fraction_bits)

    def rounded(self, number: Number) -> float:
        """The value of a float type next to a number, ties to even: what the number is after conversion."""
        try:
            value = float(number)
        except OverflowError:
            return math.inf if number > 0 else -math.inf
        if value == 0 or not math.isfinite(value):
            return value
        fraction_bits = self.width - 1 - self.exponent_bits
        mantissa, exponent = math.frexp(value)
        scaled = math.ldexp(round(math.ldexp(mantissa, fraction_bits + 1)), -(fraction_bits + 1))
        bias = (1 << (self.exponent_bits - 1)) - 1
        carried, extra = math.frexp(scaled)
        exponent += extra
        if exponent - 1 > bias:
            return math.copysign(math.inf, value)
        return math.copysign(0.0, value) if exponent - 1 < 1 - bias else math.ldexp(carried, exponent)


TYPES = {
    "ULong": ElementType(64),
    "UInt": ElementType(32),
    "UShort": ElementType(16),
    "UByte": ElementType(8),
    "Long": ElementType(64, signed=True),
    "Int": ElementType(32, signed=True),
    "Short": ElementType(16, signed=True),
    "Byte": ElementType(8, signed=True),
    "Double": ElementType(64, exponent_bits=11),
    "Float": ElementType(32, exponent_bits=8),
    "Half": ElementType(16, exponent_bits=6),
    "E4M3": ElementType(8, exponent_bits=4),
    "E5M2": ElementType(8, exponent_bits=5),
}
BYTE_OF_TEXT = ElementType(8)
"""A byte of a `String`."""
