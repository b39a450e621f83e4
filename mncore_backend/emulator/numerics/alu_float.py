"""ALU operations on floating-point patterns, with their flags (SDM 3.6.12, 3.6.2).

The ALU does not normalise: results are selected patterns or patterns with changed fields.
"""

from fractions import Fraction
from math import isqrt

from .alu_integer import Result
from .formats import Exact, Format, value


def _number(form: Format, x: int) -> tuple[int, Fraction]:
    """A key in numeric order; infinities of one sign are ordered by their mantissas."""
    if form.is_infinite(x):
        rank = 1 + form.mantissa(x)
        return (-rank if form.sign(x) else rank), Fraction(0)
    exact = value(form, x)
    return 0, Fraction(exact.integer) * Fraction(2) ** exact.scale


def extremum(form: Format, x: int, y: int, largest: bool) -> Result:
    """max and min: one operand's bits; x if both are zero or equal."""
    a, b = _number(form, x), _number(form, y)
    takes_x = a >= b if largest else a <= b
    return (x if takes_x else y), int(takes_x)


def relu(form: Format, x: int, y: int, position: int) -> Result:
    """relu0..relu3: y if bit `position` from the MSB of x is 0, else -0."""
    bit = (x >> (form.bits - 1 - position)) & 1
    return (form.pack(1, 0, 0) if bit else y), 1 - bit


def leaky(form: Format, x: int, y: int, change: int) -> Result:
    """lrelud, lreluo, ilrelud: y, or y with its exponent changed if x is negative (OPEN-23)."""
    negative = form.sign(x)
    if not negative or form.is_zero(y) or form.is_infinite(y):
        return y, 1 - negative
    exponent = form.exponent(y) + change
    if exponent <= 0:
        return form.pack(form.sign(y), 0, 0), 0
    if exponent >= form.top:
        return form.infinity(form.sign(y)), 0
    return form.pack(form.sign(y), exponent, form.mantissa(y)), 0


def _integer_part(exact: Exact) -> tuple[int, bool]:
    """Magnitude truncated to an integer, and whether something was cut off."""
    magnitude = abs(exact.integer)
    if exact.scale >= 0:
        return magnitude << exact.scale, False
    kept = magnitude >> -exact.scale
    return kept, kept << -exact.scale != magnitude


def floor(form: Format, x: int) -> int:
    """Round toward minus infinity; zeros and infinities pass, a zero result keeps the sign of x."""
    if form.is_zero(x) or form.is_infinite(x):
        return x
    kept, cut = _integer_part(value(form, x))
    kept += cut and form.sign(x)
    if kept == 0:
        return form.pack(form.sign(x), 0, 0)
    power = kept.bit_length() - 1
    shift = form.mantissa_bits - power
    mantissa = kept << shift if shift >= 0 else kept >> -shift
    return form.pack(form.sign(x), power + form.bias, form.mantissa(mantissa))


def ftoi(form: Format, x: int, unsigned: bool) -> int:
    """Truncate to an integer of the lane width with saturation; unsigned converts abs(x) (OPEN-24)."""
    bits = form.bits
    largest = (1 << bits) - 1 if unsigned else (1 << (bits - 1)) - 1
    negative = bool(form.sign(x)) and not unsigned
    if form.is_infinite(x):
        kept = 1 << bits
    else:
        kept, _ = _integer_part(value(form, x))
    if negative:
        return -min(kept, 1 << (bits - 1)) % (1 << bits)
    return min(kept, largest)


def rsqrt(form: Format, x: int) -> int:
    """1/sqrt(abs x), from x cut to its top 4 mantissa bits, rounded down: abs x = v * 4**k with 1 <= v < 4 gives
    floor(64 / sqrt(v cut)) / 64 * 2**-k. 0 gives +inf, inf gives +0 (OPEN-22)."""
    if form.is_zero(x):
        return form.infinity(0)
    if form.is_infinite(x):
        return 0
    power = form.exponent(x) - form.bias
    quarter = power // 2
    v = Fraction(form.significand(x) >> (form.mantissa_bits - 4), 16) * 2 ** (power % 2)
    steps = isqrt(int(Fraction(64 * 64) / v))  # from 32 to 64
    if steps == 64:
        return form.pack(0, form.bias - quarter, 0)
    return form.pack(0, form.bias - quarter - 1, (steps - 32) << (form.mantissa_bits - 5))


_RELU = {"relu": 0, "relu0": 0, "relu1": 1, "relu2": 2, "relu3": 3}
_LEAKY = {"lrelud": -1, "lreluo": -3, "ilrelud": 1}
OPERATIONS = ("max", "min", "floor", "ftoi", "rsqrt", *_RELU, *_LEAKY)


def floating(op: str, form: Format, x: int, y: int = 0, unsigned: bool = False) -> Result:
    """One element of a floating-point operation and its flag (None: no flag)."""
    if op in ("max", "min"):
        return extremum(form, x, y, op == "max")
    if op in _RELU:
        return relu(form, x, y, _RELU[op])
    if op in _LEAKY:
        return leaky(form, x, y, _LEAKY[op])
    if op == "rsqrt":
        return rsqrt(form, x), 1 - form.sign(x)
    return (floor(form, x) if op == "floor" else ftoi(form, x, unsigned)), None
