"""Polynomial fitting: minimax quality, single-precision coefficients, refusal."""

import numpy as np
import pytest

from mnc.mncore_backend.kernels.math.approximations import APPROXIMATIONS, DEFAULT_TOLERANCE
from mnc.mncore_backend.kernels.math.fit import fit, polynomial


def test_error_of_a_known_minimax_polynomial() -> None:
    # The best line for e^x on [0, 1] has error 0.10593 (Cheney, Introduction to Approximation Theory).
    coefficients, error = fit(np.exp, 0.0, 1.0, 1)
    assert error == pytest.approx(0.10593, rel=1e-3)
    assert coefficients[1] == pytest.approx(np.e - 1, rel=1e-4)


def test_coefficients_are_singles_and_fixed_ones_stay() -> None:
    coefficients, _ = fit(np.cos, -1.0, 1.0, 6, None, (1.0, 0.0))
    assert coefficients[:2] == (1.0, 0.0)
    assert all(float(np.float32(c)) == c for c in coefficients)


def test_degree_grows_with_the_accuracy_asked_for() -> None:
    assert len(polynomial(np.sin, 0.0, 1.0, 1e-2)) < len(polynomial(np.sin, 0.0, 1.0, 1e-6))


def test_an_unreachable_tolerance_is_refused() -> None:
    with pytest.raises(ValueError, match="reaches"):
        polynomial(np.abs, -1.0, 1.0, 1e-7)


@pytest.mark.parametrize("entry", APPROXIMATIONS, ids=lambda entry: entry.name)
def test_every_approximation_keeps_its_tolerance(entry) -> None:
    x = np.linspace(entry.low, entry.high, 4001)[1:-1]
    error = entry.function(x) - np.polynomial.polynomial.polyval(x, entry.coefficients())
    weight = 1.0 if entry.weight is None else entry.weight(x)
    assert np.max(np.abs(error * weight)) <= 1.01 * DEFAULT_TOLERANCE * entry.scale
