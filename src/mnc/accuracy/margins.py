"""How far an error may lie beyond the deviations that were seen in a few disturbed evaluations."""

import functools
import math

FAILURE = 1e-4
"""Probability that the bound of a tensor is too small, if rounding is what the model of it says."""
SAMPLES = 16
"""Disturbed evaluations. Few need a wide margin (4.5 for 8, 2.5 for 16), many take long."""
STEPS = 64
"""Distances at which the worst one is looked for."""


def chi_square_quantile(probability: float, degrees: int) -> float:
    """Where the chi-square distribution with an even number of degrees of freedom reaches a probability."""
    low, high = 0.0, float(degrees)  # beyond its median
    for _ in range(100):
        middle = (low + high) / 2
        tail = math.exp(-middle / 2) * sum((middle / 2) ** i / math.factorial(i) for i in range(degrees // 2))
        low, high = (middle, high) if 1 - tail < probability else (low, middle)
    return low


def margin(elements: int) -> float:
    """What the root of the largest mean square of a tensor is multiplied by, half of `FAILURE` for each inequality."""
    return _hoeffding(elements) * math.sqrt(SAMPLES / chi_square_quantile(FAILURE / 2, SAMPLES))


@functools.cache
def margin_of_choices(choices: int) -> float:
    """What the root of the mean square of a difference is multiplied by: a choice whose sides are further apart than
    that does not turn, for any of so many choices, but for a probability of `FAILURE`.

    With t the square of what separates the sides, over the variance: rounding turns the choice with a probability of
    at most exp(-t / 2), and the evaluations say that it is decided with that of a chi-square variable below t SAMPLES
    over the square of the margin. Both must happen, and they are independent.
    """
    share = FAILURE / max(choices, 1)
    furthest = -2 * math.log(share)
    distances = [furthest * number / STEPS for number in range(1, STEPS)]
    seen = (chi_square_quantile(share * math.exp(t / 2), SAMPLES) for t in distances)
    squares = [SAMPLES * t / quantile for t, quantile in zip(distances, seen, strict=True)]
    return math.sqrt(max(squares))


def _hoeffding(elements: int) -> float:
    return math.sqrt(2 * math.log(2 * max(elements, 1) / (FAILURE / 2)))
