"""Rounding singles to narrower float formats, one element at a time, by `arith` on words and singles."""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import arith, ir, math

_SINGLE_MANTISSA = 23
_OLT, _OGE = 4, 3
_INFINITY = 0x7F800000


@dataclass(frozen=True)
class FloatFormat:
    """A binary format with subnormal numbers.

    mantissa: bits stored of it. smallest, largest: exponents of the smallest and the largest normal number.
    infinite: whether what rounds beyond the largest number becomes infinite; else that is for the caller to prevent.
    """

    mantissa: int
    smallest: int
    largest: int
    infinite: bool = False


HALF = FloatFormat(10, -14, 15, infinite=True)
FORMATS = {
    "float8_e4m3fn": FloatFormat(3, -6, 8),
    "float8_e4m3fnuz": FloatFormat(3, -7, 7),
    "float8_e5m2": FloatFormat(2, -14, 15, infinite=True),
    "float8_e5m2fnuz": FloatFormat(2, -15, 15),
    "float6_e2m3fn": FloatFormat(3, 0, 2),
    "float6_e3m2fn": FloatFormat(2, -2, 4),
    "float4_e2m1fn": FloatFormat(1, 0, 2),
}
"""By their names in ml_dtypes."""


def _i32() -> Any:
    return ir.IntegerType.get_signless(32)


def word(value: int) -> Any:
    """A constant word."""
    return arith.ConstantOp(_i32(), ir.IntegerAttr.get(_i32(), (value + 2**31) % 2**32 - 2**31)).result


def real(value: float) -> Any:
    """A constant single."""
    return arith.ConstantOp(ir.F32Type.get(), ir.FloatAttr.get(ir.F32Type.get(), value)).result


def compare_floats(predicate: int, a: Any, b: Any) -> Any:
    """`arith.cmpf`."""
    return arith.CmpFOp(ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate), a, b).result


def rounded_bits(x: Any, dropped: int) -> Any:
    """The single with its last `dropped` mantissa bits rounded away, halves to even."""
    bits = arith.BitcastOp(_i32(), x).result
    last = arith.AndIOp(arith.ShRUIOp(bits, word(dropped)).result, word(1)).result
    half = arith.AddIOp(bits, word((1 << (dropped - 1)) - 1)).result
    kept = arith.AndIOp(arith.AddIOp(half, last).result, word(-(1 << dropped))).result
    return arith.BitcastOp(ir.F32Type.get(), kept).result


def rounded(x: Any, to: FloatFormat) -> Any:
    """The nearest number of a format, halves to even. Below its normal numbers the distance of two is the same
    everywhere: there adding a number whose last place is that distance rounds."""
    size = math.AbsFOp(x).result
    large = real(1.5 * 2.0 ** (_SINGLE_MANTISSA + to.smallest - to.mantissa))
    small = arith.SubFOp(arith.AddFOp(size, large).result, large).result
    is_small = compare_floats(_OLT, size, real(2.0**to.smallest))
    value = arith.SelectOp(is_small, small, rounded_bits(size, _SINGLE_MANTISSA - to.mantissa)).result
    if to.infinite:
        beyond = compare_floats(_OGE, value, real(2.0 ** (to.largest + 1)))
        value = arith.SelectOp(beyond, real(float("inf")), value).result
    return arith.SelectOp(compare_floats(_OLT, x, real(0.0)), arith.NegFOp(value).result, value).result
