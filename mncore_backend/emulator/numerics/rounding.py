"""Round to nearest even, ROUND and NORMALISE (SDM 4.2)."""

from .formats import Exact, Format


def shift_right_even(integer: int, shift: int) -> int:
    """A non-negative `integer` / 2**`shift` (shift >= 0) rounded to nearest, ties to even."""
    quotient, rest = integer >> shift, integer & ((1 << shift) - 1)
    half = (1 << shift) >> 1
    if shift and (rest > half or (rest == half and quotient & 1)):
        quotient += 1
    return quotient


def normalise(form: Format, x: int) -> int:
    """Infinities lose their mantissa, zeros their mantissa and sign."""
    if form.is_infinite(x):
        return form.infinity(form.sign(x))
    return 0 if form.is_zero(x) else x


def round_exact(form: Format, number: Exact) -> int:
    """ROUND: the nearest pattern, one rounding.

    Underflow is decided after rounding as if the exponent were unbounded (OPEN-27).
    """
    if number.integer == 0:
        return 0
    sign, magnitude = int(number.integer < 0), abs(number.integer)
    excess = magnitude.bit_length() - (form.mantissa_bits + 1)
    rounded = shift_right_even(magnitude, excess) if excess > 0 else magnitude << -excess
    scale = number.scale + excess
    if rounded >> (form.mantissa_bits + 1):  # the carry went into a new bit
        rounded, scale = rounded >> 1, scale + 1
    exponent = scale + form.mantissa_bits + form.bias
    if exponent >= form.top:
        return form.infinity(sign)
    if exponent <= 0:
        return 0
    return form.pack(sign, exponent, form.mantissa(rounded))
