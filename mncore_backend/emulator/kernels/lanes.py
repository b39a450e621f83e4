"""Lane-level building blocks shared by the kernels: formats, flags, canonical values, half rounding."""

from dataclasses import dataclass

from .emitter import Value

LONGS = 8
"""Longs per vector: 512 bits. Narrower hosts split the operations."""


@dataclass(frozen=True)
class Precision:
    """One element format: lane width, field widths and bias (0 for integers)."""

    letter: str
    bits: int
    exponent_bits: int = 0
    mantissa_bits: int = 0

    @property
    def element(self) -> str:
        """Integer element type of one lane."""
        return f"i{self.bits}"

    @property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def sign(self) -> int:
        """Mask of the sign bit."""
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        """Pattern of +inf: the exponent mask."""
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def mantissa(self) -> int:
        """Mask of the mantissa field."""
        return (1 << self.mantissa_bits) - 1


PRECISIONS = {
    "d": Precision("d", 64, 11, 52),
    "f": Precision("f", 32, 8, 23),
    "g": Precision("g", 32, 8, 23),
    "h": Precision("h", 16, 6, 9),
    "l": Precision("l", 64),
    "i": Precision("i", 32),
    "s": Precision("s", 16),
}


def nibbles(condition: Value, longs: int = LONGS) -> Value:
    """Flags of element lanes (i1) as one nibble per long (i8), each flag repeated (SDM 3.6.2).

    Lane 0 of a long is its last element on a little-endian host.
    """
    per_long = condition.lanes // longs
    weights = {1: [0xF], 2: [0x3, 0xC], 4: [0x1, 0x2, 0x4, 0x8]}[per_long] * longs
    builder = condition.builder
    element = f"i{64 // per_long}"
    marks = condition.select(builder.vector(element, weights), builder.constant(element, condition.lanes, 0))
    packed = marks.bitcast("i64")
    distance = 32
    while per_long > 1:
        packed = packed | (packed >> distance)
        distance //= 2
        per_long //= 2
    return (packed & 0xF).trunc("i8")


def exponent(x: Value, precision: Precision) -> Value:
    """The exponent field of every lane, as an integer."""
    return (x & precision.infinity) >> precision.mantissa_bits


def is_zero(x: Value, precision: Precision) -> Value:
    """Exponent field 0: the value is zero whatever the mantissa is (SDM 4.2)."""
    return (x & precision.infinity).compare("eq", 0)


def is_infinite(x: Value, precision: Precision) -> Value:
    """Exponent field all ones: infinite whatever the mantissa is (SDM 4.2)."""
    return (x & precision.infinity).compare("eq", precision.infinity)


def canonical(x: Value, precision: Precision) -> Value:
    """Bits with zeros cleared to a signed zero and infinities without mantissa."""
    special = x & (precision.sign | precision.infinity)
    return (is_zero(x, precision) | is_infinite(x, precision)).select(special, x)


def normalise(x: Value, precision: Precision) -> Value:
    """NORMALISE: like `canonical`, and zeros lose their sign."""
    finite = is_zero(x, precision).select(x.like(0), x)
    return is_infinite(x, precision).select(x & (precision.sign | precision.infinity), finite)


def half_to_single(x: Value) -> Value:
    """Exact widening of half patterns in the low 16 bits of i32 lanes to single patterns."""
    half = PRECISIONS["h"]
    sign = (x & half.sign) << 16
    magnitude = ((x & 0x7FFF) << 14) + ((127 - half.bias) << 23)
    magnitude = is_zero(x, half).select(x.like(0), magnitude)
    return sign | is_infinite(x, half).select(x.like(0x7F800000), magnitude)


def single_to_double(x: Value) -> Value:
    """Exact widening of i32 lanes holding single patterns to double patterns in i64 lanes.

    A zero keeps its sign (OPEN-31).
    """
    return canonical(x, PRECISIONS["f"]).bitcast("f32").to_float("f64").bitcast("i64")


def double_to_half(x: Value) -> Value:
    """Round double patterns (i64 lanes) to nearest even half patterns in i64 lanes, zeros positive.

    Underflow is decided after rounding as if the exponent were unbounded (OPEN-27). Double
    subnormals and zeros flush; the operand may be rounded to odd.
    """
    double, half = PRECISIONS["d"], PRECISIONS["h"]
    dropped = double.mantissa_bits - half.mantissa_bits
    magnitude = x & ~double.sign
    rounded = magnitude + ((1 << (dropped - 1)) - 1) + ((magnitude >> dropped) & 1)
    field = (rounded >> dropped) - ((double.bias - half.bias) << half.mantissa_bits)
    sign = (x >> 48) & half.sign
    finite = field.compare("slt", 1 << half.mantissa_bits).select(x.like(0), sign | field)
    return field.compare("sge", half.infinity).select(sign | half.infinity, finite)


def double_to_single(x: Value) -> Value:
    """Round double patterns (i64 lanes) to nearest even single patterns (i32 lanes), zeros positive.

    The hardware conversion rounds subnormal results on a coarser grid; the explicit bound
    2**-126 - 2**-151 flushes as rounding with an unbounded exponent would (OPEN-27).
    """
    magnitude = x & ~PRECISIONS["d"].sign
    flushed = magnitude.compare("ult", FLUSH_BOUND)
    single = x.bitcast("f64").to_float("f32").bitcast("i32")
    return flushed.select(single.like(0), single)


FLUSH_BOUND = ((1023 - 127) << 52) | (((1 << 24) - 1) << 28)
"""Double pattern of 2**-126 - 2**-151: below it a single result is zero."""


def round_to_odd(total: Value, error: Value) -> Value:
    """Bits of `total` + `error` rounded to odd, where `error` is the exact rounding error of `total`.

    Rounding the result to at most 51 bits equals one rounding of the exact sum (see
    `two_sum_to_odd`). Infinite totals have a NaN error and stay.
    """
    bits = total.bitcast("i64")
    error_bits = error.bitcast("i64")
    step = (bits ^ error_bits).sar(63) | 1  # +1 when the error points away from zero, else -1
    even = (bits & 1).compare("eq", 0)
    inexact = error.compare("one", 0.0)  # false for NaN
    return (even & inexact).select(bits + step, bits)


def two_sum_to_odd(p: Value, c: Value) -> Value:
    """Bits of p + c rounded to odd (binary64 lanes).

    The error of the sum is exact (Knuth). An odd double lies strictly on the same side of every
    value with at most 52 significant bits as the exact sum, so a later rounding to fewer bits
    rounds the exact sum.
    """
    total = p + c
    virtual = total - p
    error = (p - (total - virtual)) + (c - virtual)
    return round_to_odd(total, error)
