"""The range reduction of the exponential: its constants, and what it costs."""

import math
from fractions import Fraction

import numpy as np
import pytest

from mnc.mncore_backend.kernels.math.exponential import exp, is_exp_factor, reduction
from mnc.mncore_backend.kernels.math.micro import MicroBuilder, Value

FACTORS = [1.0, -1.0, 2.0, 0.125, 0.17677669, 0.11180339753627777, 3.7, -700.0, 0.0011]


@pytest.mark.parametrize("factor", [float(np.float32(factor)) for factor in FACTORS])
def test_slope_and_step_agree(factor: float) -> None:
    """Step times factor / ln 2 is a single to 2^-34: at the largest x that is 1/8 of half a unit of the last place."""
    to = reduction(factor)
    assert float(np.float32(to.slope)) == to.slope
    assert abs(to.slope / (to.step * factor / math.log(2)) - 1) < 2.0**-34


@pytest.mark.parametrize("factor", [1.0, 0.17677669, -700.0])
def test_products_with_the_step_are_exact(factor: float) -> None:
    """So are they in the machine: the five low bits of a factor are zero, and all of k * step fits in a single."""
    step = Fraction(reduction(factor).step)
    assert (step * 2**18).denominator == 1
    for k in range(-127, 129):
        assert Fraction(float(np.float32(float(step * k)))) == step * k


def test_nine_operations_of_the_mau() -> None:
    """Three for the remainder, six for the polynomial. Nothing is left for normalising where the ALU does it."""
    for repeats, operations in ((True, 9), (False, 10)):
        builder = MicroBuilder(repeats)
        exp(builder, Value("input", 0))
        assert sum(instruction.is_mau for instruction in builder.instructions) == operations


def test_factors_far_from_one_are_refused() -> None:
    assert is_exp_factor(0.125) and is_exp_factor(-700.0)
    assert not is_exp_factor(0.0) and not is_exp_factor(1e-4) and not is_exp_factor(2000.0)
