"""The one description of every elementary function's core: what is approximated, where, and how closely.

Each entry is the function that remains after range reduction, in float64. `elementary` holds the range reductions.
Tolerances are relative to the final result and well below the half ulp (2^-25) that its last rounding costs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mnc.mncore_backend.kernels.math.fit import polynomial

Function = Callable[[np.ndarray], np.ndarray]
DEFAULT_TOLERANCE = 2.0**-27


@dataclass(frozen=True, slots=True)
class Approximation:
    """Polynomial q(u) for u in [low, high] such that error * weight stays below the tolerance (times `scale`)."""

    name: str
    function: Function
    low: float
    high: float
    weight: Function | None = None
    fixed: tuple[float, ...] = ()
    scale: float = 1.0

    def coefficients(self, tolerance: float = DEFAULT_TOLERANCE) -> tuple[float, ...]:
        return polynomial(self.function, self.low, self.high, tolerance * self.scale, self.weight, self.fixed)


def _safe(u: np.ndarray) -> np.ndarray:
    """Arguments kept away from 0, where the quotients below are 0/0."""
    return np.where(np.abs(u) < 1e-4, 1e-4, u)


def _series(u: np.ndarray, coefficient: Callable[[int], float], terms: int) -> np.ndarray:
    """sum over n of coefficient(n) u^n."""
    return np.polynomial.polynomial.polyval(u, [coefficient(n) for n in range(terms)])


def _expm1_tail(f: np.ndarray) -> np.ndarray:
    """(e^f - 1 - f) / f^2 by its series (no cancellation)."""
    return _series(f, lambda n: 1 / math.factorial(n + 2), 18)


def _log1p_tail(f: np.ndarray) -> np.ndarray:
    """(log(1+f) - f + f^2/2) / f^3."""
    small = _series(f, lambda n: (-1) ** n / (n + 3), 60)
    g = np.where(np.abs(f) < 0.2, 0.3, f)
    return np.where(np.abs(f) < 0.2, small, (np.log1p(g) - g + g * g / 2) / g**3)


def _atanh_tail(u: np.ndarray) -> np.ndarray:
    """(log((1+s)/(1-s)) - 2s) / s^3 in u = s^2."""
    return _series(u, lambda n: 2 / (2 * n + 3), 40)


def _sin_tail(u: np.ndarray) -> np.ndarray:
    """(sin(r) - r) / r^3 in u = r^2."""
    return _series(u, lambda n: (-1) ** (n + 1) / math.factorial(2 * n + 3), 12)


def _cos_tail(u: np.ndarray) -> np.ndarray:
    """(cos(r) - 1 + r^2/2) / r^4 in u = r^2."""
    return _series(u, lambda n: (-1) ** n / math.factorial(2 * n + 4), 12)


def _erf_ratio(u: np.ndarray) -> np.ndarray:
    """erf(r) / r - 1 in u = r^2, by its series."""
    return _series(u, lambda n: 2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)), 40) - 1


_erfc = np.vectorize(math.erfc, otypes=[float])


def _log_erfc(r: np.ndarray) -> np.ndarray:
    return np.log(_erfc(r))


ERF_BORDER = 0.875
ERF_END = 4.0  # erf rounds to 1 above 3.92
_HALF_LN2 = math.log(2) / 2 * 1.001
_SQRT_HALF = math.sqrt(0.5)
REDUCED_ANGLE = 0.82  # pi/4 and what the rounded quotient by pi/2 can add for arguments up to 2^19

EXP = Approximation("exp", _expm1_tail, -_HALF_LN2, _HALF_LN2, lambda f: f * f, (0.5,))
LOG = Approximation(
    "log", _log1p_tail, _SQRT_HALF - 1.0, 2 * _SQRT_HALF - 1.0, lambda f: f**3 / np.log1p(_safe(f)), (), 2.0
)
ATANH = Approximation("log, extended", _atanh_tail, 0.0, 0.172**2, lambda u: u / 2, (), 2.0**-5)
SIN = Approximation("sin", _sin_tail, 0.0, REDUCED_ANGLE**2, lambda u: np.abs(u))
COS = Approximation("cos", _cos_tail, 0.0, REDUCED_ANGLE**2, lambda u: u * u)
ERF = Approximation("erf, small argument", _erf_ratio, 0.0, ERF_BORDER**2 * 1.001)
ERFC = Approximation(
    "log erfc, large argument", _log_erfc, ERF_BORDER, ERF_END, lambda r: _erfc(r) / np.array([math.erf(t) for t in r])
)

APPROXIMATIONS = (EXP, LOG, ATANH, SIN, COS, ERF, ERFC)
