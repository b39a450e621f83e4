"""Near-minimax polynomials with single-precision coefficients, computed when they are first needed.

The Remez exchange algorithm (E. Y. Remez, 1934) on a dense grid; then the coefficients are rounded to single one by
one from the constant term up, the others being fitted again each time so that they absorb the rounding.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]
_GRID = 2000


def _chebyshev_grid(low: float, high: float, count: int) -> np.ndarray:
    angles = (np.arange(count) + 0.5) * np.pi / count
    return (low + high) / 2 - (high - low) / 2 * np.cos(angles)


def _remez(x: np.ndarray, target: np.ndarray, weight: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Coefficients of sum_i c_i x^powers[i] that minimise max |weight * (target - sum)| over the grid x."""
    count = len(powers) + 1
    chosen = np.linspace(0, len(x) - 1, count).round().astype(int)
    basis = x[:, None] ** powers[None, :]
    coefficients = np.zeros(len(powers))
    for _ in range(30):
        rows = weight[chosen]
        system = np.column_stack([rows[:, None] * basis[chosen], np.power(-1.0, np.arange(count)) * np.max(weight)])
        solution = np.linalg.lstsq(system, rows * target[chosen], rcond=None)[0]
        coefficients = solution[:-1]
        error = weight * (target - basis @ coefficients)
        extremes = _alternating_extremes(error, count)
        if extremes is None or np.array_equal(extremes, chosen):
            break
        chosen = extremes
    return coefficients


def _alternating_extremes(error: np.ndarray, count: int) -> np.ndarray | None:
    """Grid positions of `count` extremes of alternating sign, or None if the error does not alternate enough."""
    borders = np.flatnonzero(np.diff(np.signbit(error))) + 1
    runs = np.split(np.arange(len(error)), borders)
    peaks = [run[np.argmax(np.abs(error[run]))] for run in runs]
    while len(peaks) > count:
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    return np.array(peaks) if len(peaks) == count else None


def fit(
    function: Function,
    low: float,
    high: float,
    degree: int,
    weight: Function | None = None,
    fixed: tuple[float, ...] = (),
) -> tuple[tuple[float, ...], float]:
    """Fit of the given degree on [low, high].

    Args:
        weight: what the error is multiplied by (1 / function gives the relative error); default 1.
        fixed: coefficients of the lowest powers that are given, exact in single precision.

    Returns:
        (coefficients exact in single precision, constant term first; greatest weighted error on the grid).
    """
    x = _chebyshev_grid(low, high, _GRID)
    weights = np.ones_like(x) if weight is None else weight(x)
    target = function(x)
    known = list(fixed)
    while len(known) <= degree:
        rest = target - np.polynomial.polynomial.polyval(x, known or [0.0])
        best = _remez(x, rest, weights, np.arange(len(known), degree + 1))
        known.append(float(np.float32(best[0])))
    error = float(np.max(np.abs(weights * (target - np.polynomial.polynomial.polyval(x, known)))))
    return tuple(known), error


@cache
def polynomial(
    function: Function,
    low: float,
    high: float,
    tolerance: float,
    weight: Function | None = None,
    fixed: tuple[float, ...] = (),
) -> tuple[float, ...]:
    """The polynomial of least degree whose weighted error on [low, high] is at most `tolerance`; arguments as for
    `fit`. Raises ValueError when single-precision coefficients cannot reach it."""
    for degree in range(max(1, len(fixed)), 16):
        coefficients, error = fit(function, low, high, degree, weight, fixed)
        if error <= tolerance:
            return coefficients
    raise ValueError(f"no polynomial with single-precision coefficients reaches {tolerance} on [{low}, {high}]")
