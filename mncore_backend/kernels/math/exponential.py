"""The exponential in machine arithmetic: 2^k times a polynomial in what is left of the argument.

The remainder of x is not taken in units of x, where k times ln 2 needs two parts and two operations, but in a unit of
its own for each factor: f = slope * x - step * k. `step` has so few bits that its products with k are exact, and is
chosen among all of them such that step * factor / ln 2 happens to be a single, the slope, to 34 bits or more. The
unit is in the coefficients of the polynomial.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from mnc.mncore_backend.kernels.math import approximations as approx
from mnc.mncore_backend.kernels.math.micro import MicroBuilder, Value

MAGIC_FLOAT = 12582912.0
"""1.5 * 2^23: a sum with it is rounded to an integer, which is in the low bits of its word."""
_STEP_BITS = np.finfo(np.float32).nmant + 1 - np.finfo(np.float32).maxexp.bit_length() + 1
"""Those of a single without those of k, which is a power of two or has one bit less than the largest exponent."""
_LARGEST = 88.7
"""Greatest abs x whose exponential is a number, about."""
_LARGEST_FACTOR = 1024.0
_TRIED = 32
_SAMPLES = 16384


@dataclass(frozen=True, slots=True)
class Reduction:
    """slope * x - step * k = (factor * x - k ln 2) / unit."""

    slope: float
    step: float
    unit: float

    def coefficients(self) -> list[float]:
        """Of the polynomial that gives e^(factor * x - k ln 2), constant term first."""
        series = (1.0, 1.0, *approx.EXP.coefficients())
        return [float(np.float32(c * self.unit**n)) for n, c in enumerate(series)]


@cache
def reduction(factor: float) -> Reduction:
    """The best of the steps that make the least error in slope, at the largest x, and in the coefficients of f and f^2,
    which are singles too: the one with the least error where x is a sample."""
    step = np.arange(2 ** (_STEP_BITS - 1), 2**_STEP_BITS) / 2.0 ** (_STEP_BITS - 1)
    unit = math.log(2) / step
    largest = math.log(2) / 2
    errors = (
        _LARGEST * _distance_from_single(factor / unit)
        + largest * _distance_from_single(unit)
        + largest**2 / 2 * _distance_from_single(unit**2 / 2)
    )
    found = [
        Reduction(float(np.float32(factor / unit[i])), float(step[i]), float(unit[i]))
        for i in np.argsort(errors, kind="stable")[:_TRIED]
    ]
    return min(found, key=lambda to: _worst_error(to, factor))


def _distance_from_single(x: np.ndarray) -> np.ndarray:
    """Relative error of x rounded to single."""
    return np.abs(_single(x) / x - 1)


def _single(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32).astype(np.float64)


def _worst_error(to: Reduction, factor: float) -> float:
    """In units of the last place, over samples of all remainders and exponents, each operation rounded once."""
    x = _single(np.linspace(-87.3, 88.7, _SAMPLES) / factor)
    k = np.rint(_single(x * np.float32(factor / math.log(2))))
    f = _single(x * to.slope - k * to.step)
    *rest, value = to.coefficients()
    result = np.full_like(f, value)
    for coefficient in reversed(rest):
        result = _single(result * f + coefficient)
    exact = np.exp(x * factor - k * math.log(2))
    return float(np.max(np.abs(result - exact) / np.spacing(exact.astype(np.float32))))


def exp_unclamped(m: MicroBuilder, x: Value, factor: float = 1.0) -> Value:
    """e^(factor * x) for -88 <= factor * x <= 89; a result out of range has a zero or full exponent field and any
    mantissa. The factor is in constants, and its product with x is never rounded."""
    to = reduction(factor)
    rounded = m.fma(x, m.number(factor / math.log(2)), m.number(MAGIC_FLOAT))
    whole = m.fma(rounded, m.number(to.step), m.number(-MAGIC_FLOAT * to.step))
    f = m.fma(x, m.number(to.slope), -whole)
    value = m.polynomial(f, to.coefficients())
    return m.alu("iadd", value, m.shift_left(rounded, 23))


def is_exp_factor(factor: float) -> bool:
    """Whether `exp` takes a factor: its slope is far from the ends of singles."""
    return 1 / _LARGEST_FACTOR <= abs(factor) <= _LARGEST_FACTOR


def exp(m: MicroBuilder, x: Value, factor: float = 1.0) -> Value:
    """e^(factor * x); +0 below the smallest normal, +inf above the largest."""
    low, high = sorted((-88.0 / factor, 89.0 / factor))
    x = m.alu("fmax", m.alu("fmin", x, m.number(high)), m.number(low))
    return m.normalise_positive(exp_unclamped(m, x, factor))
