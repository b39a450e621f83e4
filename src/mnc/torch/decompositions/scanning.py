"""Running products, extremes and sums of exponentials: each step combines every element with one that is twice as far
away as in the step before."""

from collections.abc import Callable
from typing import Any

import torch

_aten = torch.ops.aten
Combine = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _running(x: torch.Tensor, dim: int, combine: Combine) -> torch.Tensor:
    """[x0, x0 x1, x0 x1 x2, ...] along a dimension, where the operation does not mind the order."""
    extent, distance = x.shape[dim], 1
    while distance < extent:
        behind = combine(x.narrow(dim, distance, extent - distance), x.narrow(dim, 0, extent - distance))
        x = torch.cat([x.narrow(dim, 0, distance), behind], dim)
        distance *= 2
    return x


def cumprod(self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """``aten.cumprod``; integers give int64."""
    wanted = dtype or (self.dtype if self.is_floating_point() else torch.int64)
    x = self.to(wanted)
    return _running(x, dim % x.dim(), torch.mul) if x.dim() else x.clone()


def logcumsumexp(self: torch.Tensor, dim: int) -> torch.Tensor:
    """``aten.logcumsumexp``."""
    return _running(self, dim % self.dim(), torch.logaddexp) if self.dim() else self.clone()


def _running_extreme(combine: Combine) -> Any:
    def extremes(self: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        """``aten.cummax`` and ``aten.cummin``: of equal elements the last one counts."""
        if not self.dim():
            return self.clone(), torch.zeros_like(self, dtype=torch.int64)
        dim %= self.dim()
        values = _running(self, dim, combine)
        places = torch.arange(self.shape[dim]).reshape(-1, *([1] * (self.dim() - 1 - dim)))
        return values, _running(torch.where(self == values, places, 0), dim, torch.maximum)

    return extremes


DECOMPOSITIONS = {
    _aten.cumprod.default: cumprod,
    _aten.cummax.default: _running_extreme(torch.maximum),
    _aten.cummin.default: _running_extreme(torch.minimum),
    _aten.logcumsumexp.default: logcumsumexp,
}
