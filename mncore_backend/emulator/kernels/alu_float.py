"""Floating-point ALU operations as lane functions over integer patterns (SDM 3.6.12).

The ALU never normalises: a result is a selected or adjusted bit pattern.
"""

from collections.abc import Callable

from .emitter import Value
from .lanes import Precision, exponent, is_infinite, is_zero

Operation = Callable[[Value, Value, Precision, bool], tuple[Value, Value | None]]


def order_key(x: Value, precision: Precision) -> Value:
    """A signed integer ordered like the float `x`; all zeros give 0, infinities order by mantissa."""
    magnitude = is_zero(x, precision).select(x.like(0), x & ~precision.sign)
    return x.compare("slt", 0).select(0 - magnitude, magnitude)


def _relu(position: int) -> Operation:
    """y where bit `position` from the MSB of x is 0, else -0."""

    def operation(x: Value, y: Value, precision: Precision, _: bool) -> tuple[Value, Value]:
        clear = (x & (precision.sign >> position)).compare("eq", 0)
        return clear.select(y, precision.sign), clear

    return operation


def _leaky(exponent_change: int) -> Operation:
    """y where x is non-negative, else y scaled by 2**`exponent_change`.

    Zeros and infinities pass; underflow gives a zero and overflow an infinity, with the sign of y
    (OPEN-23).
    """

    def operation(x: Value, y: Value, precision: Precision, _: bool) -> tuple[Value, Value]:
        sign = y & precision.sign
        top = precision.infinity >> precision.mantissa_bits
        changed = exponent(y, precision) + exponent_change
        scaled = y + (exponent_change << precision.mantissa_bits)
        scaled = changed.compare("sle", 0).select(sign, scaled)
        scaled = changed.compare("sge", top).select(sign | precision.infinity, scaled)
        scaled = (is_zero(y, precision) | is_infinite(y, precision)).select(y, scaled)
        clear = x.compare("sge", 0)
        return clear.select(y, scaled), clear

    return operation


def _floor(x: Value, _: Value, precision: Precision, __: bool) -> tuple[Value, None]:
    """Round toward minus infinity; a zero result has mantissa 0."""
    width = precision.mantissa_bits
    power = exponent(x, precision) - precision.bias
    negative = x.compare("slt", 0)
    shift = (width - power).minimum(width).maximum(0)
    unit = x.like(1) << shift
    fraction = x & (unit - 1)
    cleared = x ^ fraction
    result = (negative & fraction.compare("ne", 0)).select(cleared + unit, cleared)
    minus_one = precision.sign | precision.bias << width
    result = power.compare("slt", 0).select(negative.select(x.like(minus_one), 0), result)
    unchanged = is_zero(x, precision) | power.compare("sge", width)
    return unchanged.select(x, result), None


def _ftoi(x: Value, _: Value, precision: Precision, unsigned: bool) -> tuple[Value, None]:
    """Truncate to an integer of the lane width, saturating; infinities saturate too (OPEN-24)."""
    width, bits = precision.mantissa_bits, precision.bits
    power = exponent(x, precision) - precision.bias
    significand = (x & precision.mantissa) | (1 << width)
    left = (power - width).maximum(0).minimum(bits - 1)
    right = (width - power).maximum(0).minimum(bits - 1)
    magnitude = (significand << left) >> right
    magnitude = power.compare("slt", 0).select(x.like(0), magnitude)
    if unsigned:
        return power.compare("sge", bits).select(x.like(-1), magnitude), None
    negative = x.compare("slt", 0)
    limit = negative.select(x.like(precision.sign), precision.sign - 1)
    signed = negative.select(0 - magnitude, magnitude)
    return power.compare("sge", bits - 1).select(limit, signed), None


def rsqrt_thresholds() -> list[int]:
    """Largest v * 16, for v from 1 to below 4 in sixteenths, with 1/sqrt(v) of at least n/64, for n = 33..64."""
    return [(1 << 16) // n**2 for n in range(33, 65)]


def _rsqrt(x: Value, _: Value, precision: Precision, __: bool) -> tuple[Value, Value]:
    """1/sqrt(abs x) by the top 4 mantissa bits, down to a multiple of 1/64; zero gives +inf, infinity +0 (OPEN-22)."""
    width = precision.mantissa_bits
    power = exponent(x, precision) - precision.bias
    odd = power & 1
    sixteenths = (((x & precision.mantissa) >> (width - 4)) | 16) << odd
    steps = x.like(0)  # n - 32, where the result is n / 64 * 2**-half_power
    for threshold in rsqrt_thresholds():
        steps = steps - sixteenths.compare("ule", threshold).sext(precision.element)
    half_power = (power - odd).sar(1)
    field = (precision.bias - 1) - half_power
    result = (field << width) + (steps << (width - 5))
    result = is_zero(x, precision).select(x.like(precision.infinity), result)
    result = is_infinite(x, precision).select(x.like(0), result)
    return result, x.compare("sge", 0)


OPERATIONS: dict[str, Operation] = {
    "relu": _relu(0),
    "relu0": _relu(0),
    "relu1": _relu(1),
    "relu2": _relu(2),
    "relu3": _relu(3),
    "lrelud": _leaky(-1),
    "lreluo": _leaky(-3),
    "ilrelud": _leaky(1),
    "floor": _floor,
    "ftoi": _ftoi,
    "rsqrt": _rsqrt,
}
