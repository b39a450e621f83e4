"""Elementary functions in machine arithmetic: range reduction around the polynomials of `approximations`.

The machine has no NaN and no subnormals, and its MAU returns +0 for a zero of either sign; what each function returns
outside its mathematical domain is said in its docstring. Products that must be exact for a cancelling sum have a
constant factor with 5 zero low bits, because the single multiplier replaces the product of the low 5 bits by an
approximation (SDM chapter 4.2). ``rsqrt`` seeds are refined by steps for seed errors from -2.6 to +3.1 % (OPEN-22).
"""

import math

from mnc.mncore_backend.kernels.math import approximations as approx
from mnc.mncore_backend.kernels.math.exponential import MAGIC_FLOAT, exp_unclamped
from mnc.mncore_backend.kernels.math.micro import INFINITY, MANTISSA_ONE, SIGN, MicroBuilder, Value

_MAGIC_BITS = 0x4B400000
_LN2_HIGH = 0.693359375
_LN2_LOW = math.log(2) - _LN2_HIGH
_FEW_BITS = 10
_LOG2_E = 1 / math.log(2)
_SQRT_HALF_BITS = 0x3F3504F3
_SMALLEST_NORMAL = 0x00800000
_ROOT_STEP = (4.28e-6, 0.50071385, 0.37020478)
"""1/sqrt(1-e) - 1 for -0.0625 <= e <= 0.0508, what seeds of rsqrt leave; Chebyshev interpolation, error 1.43e-5."""
NEGATIVE_INFINITY = 0xFF800000


# ---- logistic function and hyperbolic tangent -------------------------------------------------------------------


_LEAST_LOGIT, _GREATEST_LOGIT = -87.3, 80.0
"""The logistic function is a normal number from the first on, and a single cannot tell it from 1 long before the
second."""
_EVEN = 1 << 15
"""Units of the last place by which seeds of rsqrt are too large on average (OPEN-22)."""


def logistic(m: MicroBuilder, x: Value, factor: float = 1.0) -> Value:
    """1 / (1 + e^(-factor * x)); +0 where the true value is below the smallest normal.

    The square of a seed that is off by 3 % to either side is off by 2.1e-4 after a cubic step, and by 4.3e-8, less than
    a unit in the last place, after one of Newton.
    """
    least = m.number(_LEAST_LOGIT / factor)
    inward, outward = ("fmax", "fmin") if factor > 0 else ("fmin", "fmax")
    clamped = m.alu(outward, m.alu(inward, x, least), m.number(_GREATEST_LOGIT / factor))
    d = m.add(exp_unclamped(m, clamped, -factor), m.number(1.0))
    root = m.alu("isub", m.alu("frsqrt", d), m.constant(_EVEN))
    r, e = _cubic_step(m, d, m.mul(root, root))
    return m.keep_where(m.test(inward, x, least), "fvfma", r, e, r)


def _split_exponent(m: MicroBuilder, x: Value, factor: float) -> tuple[Value, Value]:
    """(word whose low bits are k, g) with x = (k ln 2) / factor + g and abs factor * g <= ln 2 / 2."""
    rounded = m.fma(x, m.number(factor * _LOG2_E), m.number(MAGIC_FLOAT))
    k = m.add(rounded, m.number(-MAGIC_FLOAT))
    high = _few_bits(math.log(2) / factor)
    return rounded, m.fma(k, m.number(high - math.log(2) / factor), m.fma(k, m.number(-high), x))


def _few_bits(x: float) -> float:
    """x rounded to so few bits that its product with a power of two's exponent is exact."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(mantissa, _FEW_BITS)), exponent - _FEW_BITS)


def tanh(m: MicroBuilder, x: Value) -> Value:
    """t / (t + 2) with t = e^2x - 1."""
    x = m.alu("fmax", m.alu("fmin", x, m.number(9.1)), m.number(-9.1))
    rounded, g = _split_exponent(m, x, 2.0)
    f = m.add(g, g)
    power = m.alu("iadd", m.shift_left(rounded, 23), m.constant(MANTISSA_ONE))
    square = m.mul(f, f)
    expm1 = m.fma(m.polynomial(f, approx.EXP.coefficients()), square, f)
    t = m.fma(power, expm1, m.add(power, m.number(-1.0)))
    d = m.add(t, m.number(2.0))
    r = reciprocal_positive(m, d)
    quotient = m.mul(t, r)
    return m.fma(m.fma(-quotient, d, t), r, quotient)


# ---- reciprocal and quotient ------------------------------------------------------------------------------------


def _cubic_step(m: MicroBuilder, y: Value, seed: Value) -> tuple[Value, Value]:
    """(r, e): 1/y after a cubic step, and what it is still off by, 1 - y*r."""
    one = m.number(1.0)
    e = m.fma(-y, seed, one)
    r = m.fma(seed, m.fma(e, e, e), seed)
    return r, m.fma(-y, r, one)


def _reciprocal_steps(m: MicroBuilder, y: Value, seed: Value) -> tuple[Value, Value]:
    """(r, e) such that r + r*e = 1/y to working precision: two cubic steps, the second to be applied. The square of a
    root seed is off by up to 6.3 %: 2.5e-4 after the first, 1.6e-11 after the second."""
    r, e = _cubic_step(m, y, seed)
    return r, m.fma(e, e, e)


def reciprocal_positive(m: MicroBuilder, y: Value) -> Value:
    """1/y for 2^-126 <= y < 2^126."""
    seed = m.alu("frsqrt", y)
    r, e = _reciprocal_steps(m, y, m.mul(seed, seed))
    return m.fma(r, e, r)


def reciprocal(m: MicroBuilder, y: Value, zero: Value | None = None) -> Value:
    """1/y: infinity of the same sign for a zero, +0 for infinities and above 2^126 (the result would be subnormal).
    `zero` has the sign that counts if y is zero (y may have lost it)."""
    y = m.plain(y)
    zero = zero or y
    root = m.alu("frsqrt", y)
    seed = m.alu("ior", m.mul(root, root), m.integer_and(y, SIGN))
    r, e = _reciprocal_steps(m, y, seed)
    result = m.private("fvfma", r, e, r)
    m.overwrite_with(
        result, m.test("iand", y, m.constant(INFINITY)), "fvpassa", m.alu("ior", zero, m.constant(INFINITY))
    )
    exponent = m.integer_and(y, INFINITY)
    m.overwrite(result, m.test("ixor", exponent, m.constant(INFINITY)), m.constant(0))
    return result


def divide(m: MicroBuilder, x: Value, y: Value) -> Value:
    """x/y with the remainder corrected. Divisors of 2 and more are scaled by 1/4 together with x, so that their
    reciprocal is normal. x/0 is the infinity with the product of the signs, x/inf is +0; 0/0 and inf/inf are +0."""
    y = m.plain(y)
    large = m.shift_right(m.integer_and(y, 0x40000000), 6, signed=False)
    scale = m.alu("isub", m.constant(MANTISSA_ONE), large)
    scaled, x = m.mul(y, scale), m.mul(x, scale)
    return _corrected_quotient(m, x, scaled, reciprocal(m, scaled, y))


def divide_by_constant(m: MicroBuilder, x: Value, divisor: float) -> Value:
    """x/divisor for 2^-120 <= abs divisor <= 2^120."""
    if math.frexp(divisor)[0] in (0.5, -0.5):
        return m.mul(x, m.number(1 / divisor))
    return _corrected_quotient(m, x, m.number(divisor), m.number(1 / divisor))


def _corrected_quotient(m: MicroBuilder, x: Value, y: Value, r: Value) -> Value:
    """x*r, plus its remainder times r where x*r is neither zero nor infinite."""
    q = m.private("fvmul", x, r)
    # Twice the pattern drops the sign; finite nonzero values then are 0x01000000 .. 0xfeffffff.
    offset = m.alu("iadd", m.alu("iadd", q, q), m.constant(0xFF000000))
    ordinary = m.test("uimin", offset, m.constant(0xFDFFFFFF))
    m.overwrite_with(q, ordinary, "fvfma", m.private("fvfma", -q, y, x), r, q)
    return q


# ---- roots ------------------------------------------------------------------------------------------------------


def _split_even_exponent(m: MicroBuilder, x: Value) -> tuple[Value, Value]:
    """(k, w) with x = w * 4^k and 1 <= w < 4, for a positive x."""
    k = m.shift_right(m.alu("isub", x, m.constant(MANTISSA_ONE)), 24)
    return k, m.alu("isub", x, m.shift_left(k, 24))


def sqrt(m: MicroBuilder, x: Value) -> Value:
    """Square root; +0 for zeros and negative values, +inf for +inf."""
    # Seed errors of 3.1 % become 1.5e-3 and 3.1e-6 in the two steps, 1.5e-11 in the last correction.
    x = m.plain(x)
    k, w = _split_even_exponent(m, x)
    half = m.number(0.5)
    seed = m.alu("frsqrt", w)
    g, h = m.mul(w, seed), m.mul(seed, half)
    for _ in range(2):
        r = m.fma(-g, h, half)
        g, h = m.fma(g, r, g), m.fma(h, r, h)
    g = m.fma(m.fma(-g, g, w), h, g)
    positive = m.test("fmax", x, m.constant(_SMALLEST_NORMAL))
    result = m.keep_where(positive, "iadd", g, m.shift_left(k, 23))
    m.overwrite(result, m.test("fmax", x, m.constant(INFINITY)), m.constant(INFINITY))
    return result


def rsqrt(m: MicroBuilder, x: Value) -> Value:
    """1 / sqrt(x); +inf for zeros and negative values, +0 for +inf."""
    x = m.plain(x)
    k, w = _split_even_exponent(m, x)
    y = m.alu("frsqrt", w)
    e = m.fma(-m.mul(w, y), y, m.number(1.0))  # -6.3 % to +5.2 %
    constant, linear, square = (m.number(c) for c in _ROOT_STEP)
    y = m.fma(y, m.fma(e, m.fma(e, square, linear), constant), y)  # off by 1.5e-5, 3.2e-10 after the Newton step
    e = m.fma(-m.mul(w, y), y, m.number(1.0))
    y = m.fma(m.mul(y, m.number(0.5)), e, y)
    result = m.private("isub", y, m.shift_left(k, 23))
    m.overwrite(result, m.test("fmin", x, m.constant(0)), m.constant(INFINITY))
    m.overwrite(result, m.test("fmax", x, m.constant(INFINITY)), m.constant(0))
    return result


# ---- logarithm --------------------------------------------------------------------------------------------------


def split_mantissa(m: MicroBuilder, x: Value) -> tuple[Value, Value, Value]:
    """(k as a float, 2^23 k as an integer, w) with x = w * 2^k and sqrt(1/2) <= w < sqrt(2), for a positive x."""
    shifted = m.alu("isub", x, m.constant(_SQRT_HALF_BITS))
    exponent = m.integer_and(shifted, 0xFF800000)
    w = m.alu("isub", x, exponent)
    k = m.alu("iadd", m.shift_right(shifted, 23), m.constant(_MAGIC_BITS))
    return m.add(k, m.number(-MAGIC_FLOAT)), exponent, w


def _log_sum(m: MicroBuilder, k: Value, f: Value) -> Value:
    """k ln 2 + log(1 + f), in a register that may be overwritten."""
    square = m.mul(f, f)
    tail = m.mul(m.polynomial(f, (-0.5, *approx.LOG.coefficients())), square)
    tail = m.fma(k, m.number(_LN2_LOW), tail)
    return m.private("fvfma", k, m.number(_LN2_HIGH), m.add(f, tail))


def _log_limits(m: MicroBuilder, result: Value, x: Value) -> Value:
    m.overwrite(result, m.test("fmin", x, m.constant(0)), m.constant(NEGATIVE_INFINITY))
    m.overwrite(result, m.test("fmax", x, m.constant(INFINITY)), m.constant(INFINITY))
    return result


def log(m: MicroBuilder, x: Value) -> Value:
    """Natural logarithm; -inf for zeros and negative values, +inf for +inf."""
    x = m.plain(x)
    k, _, w = split_mantissa(m, x)
    return _log_limits(m, _log_sum(m, k, m.add(w, m.number(-1.0))), x)


def log1p(m: MicroBuilder, x: Value) -> Value:
    """log(1 + x); -inf for x <= -1."""
    total = m.add(x, m.number(1.0))
    k, exponent, w = split_mantissa(m, total)
    scale = m.alu("isub", m.constant(MANTISSA_ONE), exponent)
    offset = m.add(scale, m.number(-1.0))
    f = m.private("fvfma", x, scale, offset)  # (1 + x) / 2^k - 1 with one rounding
    # Above 2^24 the 1 no longer counts, and the scale can underflow.
    m.overwrite_with(f, m.test("fmax", x, m.number(2.0**24)), "fvadd", w, m.number(-1.0))
    return _log_limits(m, _log_sum(m, k, f), total)


# ---- erf, sine, cosine ------------------------------------------------------------------------------------------


def erf(m: MicroBuilder, x: Value) -> Value:
    """x + x q(x^2) for small arguments, 1 - e^p(abs x) with the sign of x for the others."""
    x = m.plain(x)
    size = m.absolute(x)
    power = m.polynomial(m.alu("fmin", size, m.number(approx.ERF_END)), approx.ERFC.coefficients())
    large = m.add(m.number(1.0), -exp_unclamped(m, power))
    large = m.alu("ior", large, m.integer_and(x, SIGN))
    ratio = m.polynomial(m.mul(x, x), approx.ERF.coefficients())
    result = m.private("fvfma", ratio, x, x)
    m.overwrite(result, m.test("fmax", size, m.number(approx.ERF_BORDER)), large)
    return result


def _half_pi_parts() -> tuple[float, float, float]:
    """pi/2 as three singles; the first two have 19 significant bits, so that their products with k are exact."""
    high = float(round(math.pi / 2 * 2**18)) / 2**18
    middle = float(round((math.pi / 2 - high) * 2**38)) / 2**38
    return high, middle, (math.pi / 2 - high) - middle + 6.123233995736766e-17


def sine(m: MicroBuilder, x: Value, quadrant: int = 0) -> Value:
    """sin(x + quadrant * pi/2). Accurate up to abs x = 2^19; beyond, and for infinities, some value in [-1, 1]."""
    rounded = m.fma(x, m.number(2 / math.pi), m.number(MAGIC_FLOAT))
    k = m.add(rounded, m.number(-MAGIC_FLOAT))
    r = x
    for part in _half_pi_parts():
        r = m.fma(k, m.number(-part), r)
    r = m.alu("fmax", m.alu("fmin", r, m.number(approx.REDUCED_ANGLE)), m.number(-approx.REDUCED_ANGLE))
    u = m.mul(r, r)
    cosine_part = m.polynomial(u, (1.0, -0.5, *approx.COS.coefficients()))
    cubic = m.mul(r, u)
    sine_part = m.fma(m.polynomial(u, approx.SIN.coefficients()), cubic, r)
    turn = m.alu("iadd", rounded, m.constant(quadrant)) if quadrant else rounded
    value = m.select(m.test("iand", turn, m.constant(1)), sine_part, cosine_part)
    return m.alu("ixor", value, m.shift_left(m.integer_and(turn, 2), 30))


def cosine(m: MicroBuilder, x: Value) -> Value:
    """cos(x), as `sine`."""
    return sine(m, x, 1)
