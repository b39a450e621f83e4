"""What looks at the order of elements: ranks by sorting, places by comparison with every boundary."""

import torch

_aten = torch.ops.aten


def kthvalue(
    self: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """``aten.kthvalue``: the k-th smallest elements, and where they were."""
    if not self.dim():
        return self.clone(), torch.zeros_like(self, dtype=torch.int64)
    values, places = torch.sort(self, dim)
    values, places = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def median_dim(self: torch.Tensor, dim: int = -1, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """``aten.median.dim``: the lower one of two."""
    return kthvalue(self, (self.shape[dim] + 1) // 2 if self.dim() else 1, dim, keepdim)


def median(self: torch.Tensor) -> torch.Tensor:
    """``aten.median``."""
    return median_dim(self.reshape(-1), 0)[0]


def searchsorted(
    sorted_sequence: torch.Tensor, self: torch.Tensor, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    """``aten.searchsorted.Tensor``: how many boundaries are less than each value, or not greater."""
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    boundaries, values = sorted_sequence.unsqueeze(-2), self.unsqueeze(-1)
    if sorted_sequence.dim() == 1:
        boundaries = sorted_sequence
    behind = boundaries <= values if right or side == "right" else boundaries < values
    return behind.sum(-1).to(torch.int32 if out_int32 else torch.int64)


def bucketize(
    self: torch.Tensor, boundaries: torch.Tensor, *, out_int32: bool = False, right: bool = False
) -> torch.Tensor:
    """``aten.bucketize.Tensor``."""
    return searchsorted(boundaries, self, out_int32=out_int32, right=right)


def histc(self: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:
    """``aten.histc``: how many elements each of `bins` equal intervals holds; the last one holds its end, too."""
    x = self.reshape(-1, 1)
    low, high = (x.amin(), x.amax()) if min == max else (min, max)
    number = ((x - low) * (bins / (high - low))).floor()
    number = torch.where(x == high, bins - 1.0, number)
    return (number == torch.arange(bins)).to(self.dtype).sum(0)


DECOMPOSITIONS = {
    _aten.bucketize.Tensor: bucketize,
    _aten.histc.default: histc,
    _aten.kthvalue.default: kthvalue,
    _aten.median.default: median,
    _aten.median.dim: median_dim,
    _aten.searchsorted.Tensor: searchsorted,
}
