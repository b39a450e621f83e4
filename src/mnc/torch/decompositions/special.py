"""The inverse of the error function, and the rectifier with slopes drawn by lot."""

import math

import torch

_aten = torch.ops.aten

# M. J. Wichura, Algorithm AS 241: The percentage points of the normal distribution, Applied Statistics 37(3), 1988:
# PPND7, to about 7 digits; numerators and denominators, highest powers first.
_MIDDLE = (59.10937472, 159.29113202, 50.434271938, 3.3871327179), (67.1875636, 78.757757664, 17.895169469, 1.0)
_TAIL = (0.17023821103, 1.3067284816, 2.75681539, 1.4234372777), (0.12021132975, 0.7370016425, 1.0)


def _polynomial(x: torch.Tensor, coefficients: tuple[float, ...]) -> torch.Tensor:
    total = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def _ratio(x: torch.Tensor, both: tuple[tuple[float, ...], tuple[float, ...]]) -> torch.Tensor:
    return _polynomial(x, both[0]) / _polynomial(x, both[1])


def erfinv(self: torch.Tensor) -> torch.Tensor:
    """``aten.erfinv``, from the quantile of (1 + x) / 2. Singles below 1 leave out the far tail of the algorithm."""
    distance, tail = self / 2, (1 - self.abs()) / 2
    middle = distance * _ratio(0.180625 - distance * distance, _MIDDLE)
    is_end = tail == 0
    outer = _ratio(torch.sqrt(-torch.log(torch.where(is_end, 0.5, tail))) - 1.6, _TAIL)
    outer = torch.where(is_end, math.inf, outer)
    quantile = torch.where(distance.abs() <= 0.425, middle, torch.where(distance < 0, -outer, outer))
    return quantile * math.sqrt(0.5)


def rrelu(
    self: torch.Tensor, noise: torch.Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False,
    generator: torch.Generator | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """``aten.rrelu_with_noise_functional`` outside of training: the slope is the mean of its limits."""
    if training:  # random numbers: the operator is refused
        return NotImplemented
    return torch.where(self < 0, self * ((lower + upper) / 2), self), noise


DECOMPOSITIONS = {
    _aten.erfinv.default: erfinv,
    _aten.rrelu_with_noise_functional.default: rrelu,
}
