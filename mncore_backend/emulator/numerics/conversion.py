"""Precision changes of operands: suffixes ``e`` and ``r`` (SDM 3.6.1.18, 4.5)."""

from .formats import DOUBLE, HALF, SINGLE, Format, value
from .rounding import round_exact

NARROWER = {DOUBLE: SINGLE, SINGLE: HALF}


def widen(source: Format, target: Format, x: int) -> int:
    """Exact extension; zeros and infinities lose their mantissa, a zero keeps its sign (OPEN-31)."""
    sign = source.sign(x)
    if source.is_zero(x):
        return target.pack(sign, 0, 0)
    if source.is_infinite(x):
        return target.infinity(sign)
    mantissa = source.mantissa(x) << (target.mantissa_bits - source.mantissa_bits)
    return target.pack(sign, source.exponent(x) - source.bias + target.bias, mantissa)


def narrow(source: Format, target: Format, x: int) -> int:
    """Round to nearest even; every zero becomes +0 (OPEN-31)."""
    if source.is_infinite(x):
        return target.infinity(source.sign(x))
    return round_exact(target, value(source, x))


def half_from_single(x: int) -> int:
    """The half pattern nearest to a single pattern."""
    return narrow(SINGLE, HALF, x)


def negate(form: Format, x: int) -> int:
    """Operand prefix ``-``: the sign bit flipped."""
    return x ^ (1 << (form.bits - 1))
