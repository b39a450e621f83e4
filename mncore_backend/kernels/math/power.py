"""x^y through a logarithm of about 31 bits, held as the unevaluated sum of two singles."""

import math

from mnc.mncore_backend.kernels.math import approximations as approx
from mnc.mncore_backend.kernels.math.elementary import (
    reciprocal,
    reciprocal_positive,
    rsqrt,
    split_mantissa,
    sqrt,
)
from mnc.mncore_backend.kernels.math.exponential import MAGIC_FLOAT
from mnc.mncore_backend.kernels.math.micro import INFINITY, SIGN, MicroBuilder, Value

_LOG2_E_HIGH = float(round(2**18 / math.log(2))) / 2**18  # 19 bits: the product with a single is exact enough
_LOG2_E_LOW = 1 / math.log(2) - _LOG2_E_HIGH
_BEYOND = 2.0**100  # stands for the logarithm of an infinity


def _log2_extended(m: MicroBuilder, x: Value) -> tuple[Value, Value]:
    """log2 x as (high, low), for a positive normal x: 2 atanh(s) with s = (w-1)/(w+1)."""
    k, _, w = split_mantissa(m, x)
    f = m.add(w, m.number(-1.0))
    d = m.add(w, m.number(1.0))
    d_low = m.sub(w, m.add(d, m.number(-1.0)))
    r = reciprocal_positive(m, d)
    s = m.mul(f, r)
    remainder = m.fma(-s, d_low, m.fma(-s, d, f))
    s_low = m.mul(remainder, r)
    u = m.mul(s, s)
    tail = m.mul(m.polynomial(u, approx.ATANH.coefficients()), u)
    a = m.add(s, s)
    b = m.fma(tail, s, m.add(s_low, s_low))
    product = m.mul(a, m.number(_LOG2_E_HIGH))
    low = m.fma(a, m.number(_LOG2_E_HIGH), -product)
    low = m.fma(a, m.number(_LOG2_E_LOW), low)
    low = m.fma(b, m.number(1 / math.log(2)), low)
    high = m.add(k, product)
    low = m.add(low, m.sub(product, m.sub(high, k)))
    return high, low


def _exp2_extended(m: MicroBuilder, high: Value, low: Value) -> Value:
    """2^(high + low), for abs low much below 1; +0 or +inf out of range."""
    clamped = m.alu("fmax", m.alu("fmin", high, m.number(128.4)), m.number(-126.9))
    rounded = m.add(clamped, m.number(MAGIC_FLOAT))
    k = m.add(rounded, m.number(-MAGIC_FLOAT))
    f = m.mul(m.add(m.sub(clamped, k), low), m.number(math.log(2)))
    value = m.polynomial(f, (1.0, 1.0, *approx.EXP.coefficients()))
    return m.normalise_positive(m.alu("iadd", value, m.shift_left(rounded, 23)))


def power(m: MicroBuilder, x: Value, y: Value) -> Value:
    """x^y. x^0 is 1; 0^y is +0 or, for negative y, +inf; +-inf likewise. A negative x with an odd integer y gives the
    negated power of abs x; with any other y (also not an integer: there is no NaN) the power of abs x."""
    if y.kind == "constant":
        simple = _constant_power(m, x, m.number(1.0), y.number)
        if simple is not None:
            return simple
    y = m.alu("fmax", m.alu("fmin", y, m.number(_BEYOND)), m.number(-_BEYOND))
    x = m.plain(x)
    size = m.absolute(x)
    high, low = _log2_extended(m, size)
    high, low = m.copy(high), m.copy(low)
    zero, infinite = m.test("iand", x, m.constant(INFINITY)), m.test("fmax", size, m.constant(INFINITY))
    for flag, value in ((zero, -_BEYOND), (infinite, _BEYOND)):
        m.overwrite(high, flag, m.number(value))
        m.overwrite(low, flag, m.constant(0))
    product = m.private("fvmul", y, high)
    error = m.private("fvfma", y, low, m.private("fvfma", y, high, -product))
    in_range = m.test("fmin", m.absolute(product), m.number(200.0))
    value = _exp2_extended(m, product, m.keep_where(in_range, "fvpassa", error))
    return _sign_of_power(m, x, y, value)


def _sign_of_power(m: MicroBuilder, x: Value, y: Value, value: Value) -> Value:
    """value, negated where x is negative and y an odd integer."""
    half = m.mul(y, m.number(0.5))
    fraction = m.sub(half, m.alu("ffloor", half))  # exactly 1/2 for odd integers only
    odd = m.test("ixor", fraction, m.number(0.5))
    return m.alu("ixor", value, m.keep_where(odd, "iand", x, m.constant(SIGN)))


def _constant_power(m: MicroBuilder, x: Value, one: Value, bits: int) -> Value | None:
    """x^y for the exponents that need no logarithm, else None."""
    square = lambda: m.mul(x, x)  # noqa: E731
    simple = {
        m.number(0.0).number: lambda: one,
        m.number(1.0).number: lambda: x,
        m.number(2.0).number: square,
        m.number(3.0).number: lambda: m.mul(square(), x),
        m.number(4.0).number: lambda: m.mul(square(), square()),
        m.number(0.5).number: lambda: sqrt(m, x),
        m.number(-0.5).number: lambda: rsqrt(m, x),
        m.number(-1.0).number: lambda: reciprocal(m, x),
        m.number(-2.0).number: lambda: reciprocal(m, square()),
    }.get(bits)
    return simple() if simple else None
