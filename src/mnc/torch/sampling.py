"""Sampling at computed places, as products with matrices of weights where it is differentiated: the gradients that
torch has for it add at places."""

import math
from collections.abc import Iterator
from itertools import product

import torch

Tap = tuple[torch.Tensor, torch.Tensor]
"""Indices along one dimension, and the weights of the elements there; both [batch, places]."""

_CUBIC = -0.75  # the coefficient of torch's bicubic kernel


def grid_sample(
    input: torch.Tensor, grid: torch.Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> torch.Tensor:  # fmt: skip
    """``torch.nn.functional.grid_sample``; torch's own where nothing is differentiated."""
    if not (input.requires_grad or grid.requires_grad):
        return torch.nn.functional.grid_sample(input, grid, mode, padding_mode, align_corners)
    torch.nn.functional.grid_sample(input.detach(), grid.detach(), mode, padding_mode, align_corners)  # what it refuses
    extents, rank = input.shape[2:], grid.shape[-1]
    coordinates = grid.flatten(1, -2)
    axes = [
        _Axis(extent, mode, padding_mode, bool(align_corners)).taps(coordinates[..., rank - 1 - d])
        for d, extent in enumerate(extents)
    ]
    weights = torch.zeros(())
    elements = torch.arange(math.prod(extents))
    for index, weight in _combined(axes, list(extents)):
        weights = weights + torch.where(index.unsqueeze(-1) == elements, weight.unsqueeze(-1), 0.0)
    return (input.flatten(2) @ weights.transpose(1, 2)).reshape(*input.shape[:2], *grid.shape[1:-1])


def _combined(axes: list[list[Tap]], extents: list[int]) -> Iterator[Tap]:
    """Numbers of elements, and their weights, for every choice of a tap in each dimension."""
    for taps in product(*axes):
        number, weight = taps[0]
        for (index, own), extent in zip(taps[1:], extents[1:], strict=True):
            number, weight = number * extent + index, weight * own
        yield number, weight


class _Axis:
    """One spatial dimension of the sampled tensor."""

    def __init__(self, extent: int, mode: str, padding: str, aligned: bool) -> None:
        self.extent, self.mode, self.padding, self.aligned = extent, mode, padding, aligned

    def taps(self, x: torch.Tensor) -> list[Tap]:
        """The elements that coordinates from -1 to 1 are made of."""
        x = (x + 1) * ((self.extent - 1) / 2) if self.aligned else ((x + 1) * self.extent - 1) / 2
        x = x if self.mode == "bicubic" else self._bordered(x)
        if self.mode == "nearest":
            return [self._tap(torch.round(x), torch.ones_like(x))]
        first = torch.floor(x).detach()
        part = x - first
        if self.mode == "bilinear":
            return [self._tap(first, 1 - part), self._tap(first + 1, part)]
        distances = (part + 1, part, 1 - part, 2 - part)
        return [self._tap(first + i - 1, _cubic(d, near=i in (1, 2))) for i, d in enumerate(distances)]

    def _tap(self, index: torch.Tensor, weight: torch.Tensor) -> Tap:
        if self.padding == "zeros":
            weight = torch.where((index >= 0) & (index < self.extent), weight, 0.0)
        return self._bordered(index).clamp(0, self.extent - 1).detach().to(torch.int64), weight

    def _bordered(self, x: torch.Tensor) -> torch.Tensor:
        """Coordinates with those outside moved to where the padding takes its elements from."""
        if self.padding == "reflection":
            low, high = (0.0, self.extent - 1.0) if self.aligned else (-0.5, self.extent - 0.5)
            x = _mirrored(x, low, high)
        return x if self.padding == "zeros" else x.clamp(0, self.extent - 1)


def _mirrored(x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """x, mirrored at both borders until it lies between them."""
    if low == high:
        return torch.zeros_like(x)
    away, span = (x - low).abs(), high - low
    turns = torch.floor(away / span).detach()
    rest = away - turns * span
    return low + torch.where(turns % 2 == 0, rest, span - rest)


def _cubic(distance: torch.Tensor, near: bool) -> torch.Tensor:
    """Weight of an element at a distance of up to 1, or from 1 to 2."""
    a, d = _CUBIC, distance
    return ((a + 2) * d - (a + 3)) * d * d + 1 if near else ((d - 5) * d + 8) * d * a - 4 * a
