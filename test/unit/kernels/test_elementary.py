"""Elementary functions on the emulator: worst error in units of the last place, special values, ranges."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from mnc.mncore_backend.kernels.vector import Body, Scalar
from mnc.mncore_backend.kernels.vector.expand import Expander

from .harness import apply, random_singles, ulp_error

COUNT = 4 * 8192
INF = math.inf
RANDOM = np.random.default_rng(7)


def uniform(low: float, high: float) -> np.ndarray:
    return RANDOM.uniform(low, high, COUNT // 2).astype(np.float32)


def both_signs(values: np.ndarray) -> np.ndarray:
    return values * RANDOM.choice([-1, 1], len(values)).astype(np.float32)


def evaluate(name: str, *arguments: np.ndarray) -> np.ndarray:
    return apply(lambda body, *scalars: body.op(name, *scalars), *arguments)


# The bounds are sums of rounding errors of the evaluation: half an ulp for the last operation, and what the rounded
# intermediate values contribute. The measured worst errors stand in docs/transcendentals.md.
UNARY: list[tuple[str, Callable, np.ndarray, float]] = [
    ("exp", np.exp, np.concatenate([uniform(-87.3, 88.7), uniform(-1, 1)]), 1.0),
    ("log", np.log, np.concatenate([random_singles(RANDOM, COUNT // 2), uniform(0.5, 2)]), 1.0),
    ("log1p", np.log1p, np.concatenate([uniform(-0.99, 3), random_singles(RANDOM, COUNT // 2)]), 1.5),
    ("sqrt", np.sqrt, random_singles(RANDOM, COUNT), 0.51),
    ("rsqrt", lambda x: 1 / np.sqrt(x), random_singles(RANDOM, COUNT), 1.1),
    ("reciprocal", lambda x: 1 / x, both_signs(random_singles(RANDOM, COUNT, high=2.0**125.9)), 0.6),
    ("tanh", np.tanh, np.concatenate([uniform(-10, 10), both_signs(random_singles(RANDOM, COUNT // 2))]), 2.5),
    ("logistic", lambda x: 1 / (1 + np.exp(-x)), np.concatenate([uniform(-87, 87), uniform(-3, 3)]), 2.0),
    ("erf", np.vectorize(math.erf), np.concatenate([uniform(-5, 5), uniform(-1, 1)]), 1.5),
    ("sin", np.sin, np.concatenate([uniform(-7, 7), uniform(-5e5, 5e5)]), 2.5),
    ("cos", np.cos, np.concatenate([uniform(-7, 7), uniform(-5e5, 5e5)]), 2.5),
]


@pytest.mark.parametrize(("name", "reference", "x", "bound"), UNARY, ids=[row[0] for row in UNARY])
def test_worst_error(name: str, reference: Callable, x: np.ndarray, bound: float) -> None:
    expected = reference(x.astype(np.float64))
    normal = np.abs(expected) >= 2.0**-126
    assert ulp_error(evaluate(name, x), expected)[normal].max() <= bound


@pytest.mark.parametrize("factor", [0.125, -0.125, 0.17677669, 1.0, -1.0, 3.7, -700.0, 0.0011])
def test_exp_takes_a_factor(factor: float) -> None:
    """exp(factor * x) is as close as exp alone: the product is never rounded."""
    number = float(np.float32(factor))
    x = np.concatenate([uniform(-87.3 / abs(number), 88.7 / abs(number)), uniform(-1, 1)])
    actual = apply(lambda body, a: body.op("exp", body.op("mulf", a, body.constant(number))), x)
    expected = np.exp(x.astype(np.float64) * number)
    normal = (expected >= 2.0**-126) & (expected < 3.4e38)
    assert ulp_error(actual, expected)[normal].max() <= 1.0
    assert (actual[expected < 2.0**-127] == 0).all()
    assert np.isinf(actual[expected > 3.5e38]).all()


def one_over_one_plus_exp(body: Body, x: Scalar, factor: float, *, swapped: bool, shared: bool) -> Scalar:
    """1 / (1 + e^(-factor * x)), and of a shared power another sum that takes no part in the result."""
    one = body.constant(1.0)
    if factor == -1.0:
        exponent = x
    elif factor == 1.0:
        exponent = body.op("negf", x)
    else:
        exponent = body.op("mulf", x, body.constant(-factor))
    power = body.op("exp", exponent)
    divisor = body.op("addf", power, one) if swapped else body.op("addf", one, power)
    quotient = body.op("divf", one, divisor)
    if not shared:
        return quotient
    other = body.op("addf", divisor, body.op("negf", divisor))
    return body.op("addf", quotient, other)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("factor", [1.0, -1.0, 0.25, -3.7])
def test_a_divisor_of_one_and_a_power_is_a_logistic_function(factor: float, swapped: bool) -> None:
    """It takes as many instructions, and has the same values at the ends."""
    x = np.concatenate([uniform(-87 / abs(factor), 87 / abs(factor)), uniform(-3, 3)])
    form = partial(one_over_one_plus_exp, factor=float(np.float32(factor)), swapped=swapped, shared=False)
    expected = 1 / (1 + np.exp(-x.astype(np.float64) * np.float32(factor)))
    assert ulp_error(apply(form, x), expected)[expected >= 2.0**-126].max() <= 2.5
    ends = np.array([0.0, INF, -INF, 3e38, -3e38], np.float32)
    np.testing.assert_array_equal(apply(form, ends), [0.5, 1, 0, 1, 0] if factor > 0 else [0.5, 0, 1, 0, 1])
    by_form, by_name = Body(), Body()
    form(by_form, by_form.input("f32"))
    by_name.op("logistic", by_name.input("f32"))
    assert len(Expander(by_form).m.instructions) <= len(Expander(by_name).m.instructions) + 1


def test_a_divisor_that_others_read_is_divided_by() -> None:
    """Its power has to be there, infinities included."""
    x = uniform(-80, 80)
    form = partial(one_over_one_plus_exp, factor=1.0, swapped=False, shared=True)
    expected = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert ulp_error(apply(form, x), expected).max() <= 2.5


SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [
        (0.0, 1),
        (-0.0, 1),
        (INF, INF),
        (-INF, 0),
        (89, INF),
        (-88, 0),
        (3e38, INF),
        (-3e38, 0),
        (88.5, math.exp(88.5)),
    ],
    "log": [(0.0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-1, -INF), (1e-40, -INF)],
    "log1p": [(0.0, 0), (-1, -INF), (-2, -INF), (INF, INF), (1e-30, 1e-30), (2.0**127, math.log(2.0**127))],
    "sqrt": [(0.0, 0), (-0.0, 0), (1, 1), (4, 2), (INF, INF), (-4, 0), (2.0**-126, 2.0**-63)],
    "rsqrt": [(0.0, INF), (1, 1), (4, 0.5), (INF, 0), (-4, INF), (2.0**-126, 2.0**63)],
    "reciprocal": [(0.0, INF), (-0.0, -INF), (INF, 0), (-INF, 0), (3e38, 0), (-1, -1), (2.0**-126, 2.0**126)],
    "tanh": [(0.0, 0), (INF, 1), (-INF, -1), (1e-30, 1e-30), (20, 1), (-20, -1)],
    "logistic": [(0.0, 0.5), (INF, 1), (-INF, 0), (200, 1), (-200, 0), (-88, 0)],
    "erf": [(0.0, 0), (INF, 1), (-INF, -1), (6, 1), (1e-30, 1.1283792e-30)],
    "sin": [(0.0, 0), (1e-30, 1e-30)],
    "cos": [(0.0, 1), (1e-30, 1)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str) -> None:
    x, expected = np.array(SPECIAL[name], dtype=np.float32).T
    np.testing.assert_allclose(evaluate(name, x.copy()), expected, rtol=2e-6)


def test_sine_of_anything_is_in_range() -> None:
    x = np.concatenate([both_signs(random_singles(RANDOM, 8190)), [INF, -INF]]).astype(np.float32)
    assert np.abs(evaluate("sin", x)).max() <= 1.0
    assert np.abs(evaluate("cos", x)).max() <= 1.0


class TestDivision:
    def test_worst_error(self) -> None:
        x, y = (both_signs(random_singles(RANDOM, COUNT)) for _ in range(2))
        expected = x.astype(np.float64) / y
        result = evaluate("divf", x, y)
        ordinary = (np.abs(expected) > 2.0**-125) & (np.abs(expected) < 3.402e38)
        error = ulp_error(result[ordinary], expected[ordinary])
        assert error.max() <= 1.5
        assert error[np.abs(x[ordinary]) > 2.0**-90].max() <= 0.5001  # the remainder does not flush to zero
        overflow = np.abs(expected) > 3.403e38
        np.testing.assert_array_equal(result[overflow], np.copysign(INF, expected[overflow]))
        assert not result[np.abs(expected) < 2.0**-126.1].any()

    @pytest.mark.parametrize("divisor", [3.0, -7.7, 8.0, 1e-20, 255.0])
    def test_by_a_constant(self, divisor: float) -> None:
        x = both_signs(random_singles(RANDOM, COUNT, 1e-12, 1e12))
        result = apply(lambda body, a: body.op("divf", a, body.constant(divisor)), x)
        assert ulp_error(result, x.astype(np.float64) / float(np.float32(divisor))).max() <= 0.5001

    def test_special_values(self) -> None:
        cases = [
            (1, 0, INF),
            (-1, 0, -INF),
            (1, -0.0, -INF),
            (1, INF, 0),
            (-INF, 2, -INF),
            (0, 3, 0),
            (1e30, 2e38, 5e-9),
        ]
        x, y, expected = np.array(cases, dtype=np.float32).T
        np.testing.assert_allclose(evaluate("divf", x.copy(), y.copy()), expected, rtol=1e-6)


class TestPower:
    def test_worst_error(self) -> None:
        x = np.concatenate([uniform(0.01, 5), random_singles(RANDOM, COUNT // 2, 1e-30, 1e30)])
        y = np.concatenate([uniform(-20, 20), uniform(-1.2, 1.2)])
        expected = x.astype(np.float64) ** y.astype(np.float64)
        ordinary = (expected > 2.0**-125) & (expected < 3.402e38)
        assert ulp_error(evaluate("powf", x, y)[ordinary], expected[ordinary]).max() <= 1.6

    @pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 4.0, 0.5, -0.5, -1.0, -2.0, 2.5])
    def test_constant_exponent(self, exponent: float) -> None:
        x = uniform(0.1, 9)
        result = apply(lambda body, a: body.op("powf", a, body.constant(exponent)), x)
        assert ulp_error(result, x.astype(np.float64) ** exponent).max() <= 2.0

    def test_special_values(self) -> None:
        cases = [(0, 2, 0), (0, -2, INF), (0, 0, 1), (INF, 2, INF), (INF, -1, 0), (INF, 0, 1), (-INF, 3, -INF)]
        cases += [(-2, 3, -8), (-2, 2, 4), (-2, -3, -0.125), (1, 1e30, 1), (1, INF, 1), (2, INF, INF), (2, -INF, 0)]
        cases += [(0.5, INF, 0), (5, 200, INF), (5, -200, 0)]
        x, y, expected = np.array(cases, dtype=np.float32).T
        np.testing.assert_allclose(evaluate("powf", x.copy(), y.copy()), expected, rtol=1e-6)
