"""The logarithm of the gamma function and its derivatives, by Stirling's series."""

import math

import numpy as np
import torch

_aten = torch.ops.aten

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
"""B(2), B(4), ..., B(14)."""
_BEHIND_ZEROS = 3.0
"""Where Stirling's series of lgamma is good to 1e-9; the function has its zeros, 1 and 2, before it."""
_SHIFTS = 6
"""Steps by which the derivatives are moved to where their series is good."""


def _between_zeros() -> list[float]:
    """Coefficients c of lgamma(x) = (x - 1) * (x - 2) * sum of c[k] * T(k, 2 * x - 3) between 1 and 2."""
    nodes = np.cos(math.pi * (np.arange(64) + 0.5) / 64)
    places = (nodes + 3) / 2
    values = [math.lgamma(x) / ((x - 1) * (x - 2)) for x in places.tolist()]
    return np.polynomial.chebyshev.chebfit(nodes, values, 13).tolist()


def lgamma(self: torch.Tensor) -> torch.Tensor:
    """``aten.lgamma``; relative to its size also near its zeros. Of negative numbers by reflection."""
    x = torch.where(self > 0, self, 1 - self)
    least = x.clamp(max=_BEHIND_ZEROS)
    # Moved by one where it is not between 1 and 2; less 1, so that nothing is rounded near them.
    moved = torch.where(least < 1, least, torch.where(least > 2, least - 2, least - 1))
    factor = torch.where(least < 1, least, torch.where(least > 2, least - 1, 1.0)).log()
    near = moved * (moved - 1) * _chebyshev(2 * moved - 1) + torch.where(least < 1, -factor, factor)
    found = torch.where(x < _BEHIND_ZEROS, near, _stirling(x.clamp(min=_BEHIND_ZEROS)))
    part = (self - self.round()).abs()
    reflected = math.log(math.pi) - torch.sin(math.pi * part).log() - found
    return torch.where(self > 0, found, reflected)


def _chebyshev(t: torch.Tensor) -> torch.Tensor:
    """By Clenshaw's recurrence."""
    last, before = torch.zeros_like(t), torch.zeros_like(t)
    coefficients = _between_zeros()
    for c in reversed(coefficients[1:]):
        last, before = c + 2 * t * last - before, last
    return coefficients[0] + t * last - before


def _stirling(x: torch.Tensor) -> torch.Tensor:
    inverse = 1 / x
    series = torch.zeros_like(x)
    for k in reversed(range(len(_BERNOULLI))):
        series = series * inverse * inverse + _BERNOULLI[k] / ((2 * k + 1) * (2 * k + 2))
    return (x - 0.5) * x.log() - x + 0.5 * math.log(2 * math.pi) + series * inverse


def digamma(self: torch.Tensor) -> torch.Tensor:
    """``aten.digamma``. Of negative numbers by reflection."""
    x = torch.where(self > 0, self, 1 - self)
    shifted = x + _SHIFTS
    inverse = 1 / shifted
    series = torch.zeros_like(x)
    for k in reversed(range(len(_BERNOULLI))):
        series = (series + _BERNOULLI[k] / (2 * k + 2)) * inverse * inverse
    found = shifted.log() - 0.5 * inverse - series
    for k in range(_SHIFTS):
        found = found - 1 / (x + k)
    angle = math.pi * (self - self.round())
    return torch.where(self > 0, found, found - math.pi * angle.cos() / angle.sin())


def polygamma(n: int, self: torch.Tensor) -> torch.Tensor:
    """``aten.polygamma``: of positive numbers, and of others for n up to 1."""
    if n == 0:
        return digamma(self)
    x = torch.where(self > 0, self, 1 - self) if n == 1 else self
    shifted = x + _SHIFTS
    inverse = 1 / shifted
    series = torch.zeros_like(x)
    for k in reversed(range(len(_BERNOULLI))):
        rising = math.prod(range(n + 1, n + 2 * k + 2)) / math.factorial(2 * k + 2)
        series = series * inverse * inverse + _BERNOULLI[k] * rising
    found = inverse**n * (1 / n + inverse * (0.5 + inverse * series))
    for k in range(_SHIFTS):
        found = found + (1 / (x + k)) ** (n + 1)
    found = found * (-1) ** (n + 1) * math.factorial(n)
    if n > 1:
        return found
    sine = torch.sin(math.pi * (self - self.round()))
    return torch.where(self > 0, found, (math.pi / sine) ** 2 - found)


DECOMPOSITIONS = {
    _aten.digamma.default: digamma,
    _aten.lgamma.default: lgamma,
    _aten.polygamma.default: polygamma,
}
