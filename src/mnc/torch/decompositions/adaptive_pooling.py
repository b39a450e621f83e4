"""Adaptive pooling, as pooling where windows are alike, and the inverse of max pooling.

Written for any number of spatial dimensions, the last ones of a tensor.
"""

import math
from typing import Any

import torch

from mnc.torch.decompositions.indexing import scatter_add
from mnc.torch.decompositions.pooling import Extents, average_gradient, blocks, max_gradient
from mnc.torch.decompositions.resampling import resampled

_aten = torch.ops.aten


def _even_kernel(extents: Extents, out: Extents) -> Extents | None:
    """Kernel of the pooling that adaptive pooling is when the extents divide."""
    even = all(e % o == 0 for e, o in zip(extents, out, strict=True))
    return [e // o for e, o in zip(extents, out, strict=True)] if even else None


def _adaptive_weights(extent: int, out: int) -> list[list[float]]:
    """[out, extent]: what every element counts in each mean of one dimension."""
    rows = []
    for i in range(out):
        low, high = i * extent // out, -(-(i + 1) * extent // out)
        rows.append([1 / (high - low) if low <= place < high else 0.0 for place in range(extent)])
    return rows


def _adaptive_avg_pool(rank: int) -> Any:
    def forward(self: torch.Tensor, output_size: Extents) -> torch.Tensor:
        """``aten._adaptive_avg_poolNd``: a mean of blocks, or products where the extents do not divide."""
        extents, out = list(self.shape[-rank:]), list(output_size)
        kernel = _even_kernel(extents, out)
        if kernel is not None:
            return blocks(self, kernel, out).mean([-1 - 2 * i for i in range(rank)])
        return resampled(self, [_adaptive_weights(e, o) for e, o in zip(extents, out, strict=True)])

    return forward


def _adaptive_avg_pool_backward(rank: int) -> Any:
    def backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
        """``aten._adaptive_avg_poolNd_backward``."""
        extents, out = list(self.shape[-rank:]), list(grad_output.shape[-rank:])
        kernel = _even_kernel(extents, out)
        if kernel is not None:
            return average_gradient(grad_output * (1 / math.prod(kernel)), extents, kernel, kernel, [0] * rank)
        weights = [_adaptive_weights(e, o) for e, o in zip(extents, out, strict=True)]
        return resampled(grad_output, weights, transposed=True)

    return backward


def _windows(extent: int, out: int) -> list[list[int]]:
    """[out, length]: the places of each window of one dimension; short ones name their last place twice."""
    ends = [(i * extent // out, -(-(i + 1) * extent // out)) for i in range(out)]
    length = max(high - low for low, high in ends)
    return [[min(low + place, high - 1) for place in range(length)] for low, high in ends]


def _uneven_maximum(x: torch.Tensor, out: Extents) -> tuple[torch.Tensor, torch.Tensor]:
    """Largest of windows that differ in length or overlap, one dimension after the other, beginning with the last; and
    its place in the image. Among equal elements the first one counts."""
    rank = len(out)
    extents, values = list(x.shape[-rank:]), x
    places = torch.arange(math.prod(extents)).reshape(extents).expand(x.shape)
    for axis in range(-1, -rank - 1, -1):
        windows = torch.tensor(_windows(extents[axis], out[axis]))
        shape = [*values.shape[: values.dim() + axis], *windows.shape, *values.shape[values.dim() + axis + 1 :]]
        near = [_aten.index_select(part, axis, windows.reshape(-1)).reshape(shape) for part in (values, places)]
        values = near[0].amax(axis, keepdim=True)
        beyond = math.prod(extents)
        first = torch.where(near[0] == values, near[1], beyond).amin(axis)
        values, places = values.squeeze(axis), first
    return values, places


def _adaptive_max_pool(rank: int, pool: Any) -> tuple[Any, Any]:
    """``aten.adaptive_max_poolNd`` and its backward: pooling where the extents divide."""

    def forward(self: torch.Tensor, output_size: Extents) -> Any:
        kernel = _even_kernel(list(self.shape[-rank:]), list(output_size))
        if kernel is None:
            return _uneven_maximum(self, list(output_size))
        return pool(self, kernel, kernel, [0] * rank, [1] * rank, False)

    def backward(grad_output: torch.Tensor, self: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        kernel = _even_kernel(list(self.shape[-rank:]), list(grad_output.shape[-rank:]))
        if kernel is None:
            nothing = torch.zeros_like(self).flatten(-rank)
            return scatter_add(nothing, -1, indices.flatten(-rank), grad_output.flatten(-rank)).reshape(self.shape)
        largest = pool(self, kernel, kernel, [0] * rank, [1] * rank, False)[0]
        return max_gradient(grad_output, self, largest, kernel, kernel, [0] * rank, [1] * rank)

    return forward, backward


def _max_unpool(rank: int) -> Any:
    def unpool(self: torch.Tensor, indices: torch.Tensor, output_size: Extents, *_: Any) -> torch.Tensor:
        """``aten.max_unpoolNd``: every element at the place in the image that pooling found it at, zeros elsewhere."""
        outer, extents = self.shape[:-rank], list(output_size)
        nothing = torch.zeros([*outer, math.prod(extents)], dtype=self.dtype)
        return nothing.scatter(-1, indices.flatten(-rank), self.flatten(-rank)).reshape(*outer, *extents)

    return unpool


_maximum2d = _adaptive_max_pool(2, _aten.max_pool2d_with_indices)
_maximum3d = _adaptive_max_pool(3, _aten.max_pool3d_with_indices)

DECOMPOSITIONS = {
    _aten._adaptive_avg_pool2d.default: _adaptive_avg_pool(2),
    _aten._adaptive_avg_pool2d_backward.default: _adaptive_avg_pool_backward(2),
    _aten._adaptive_avg_pool3d.default: _adaptive_avg_pool(3),
    _aten._adaptive_avg_pool3d_backward.default: _adaptive_avg_pool_backward(3),
    _aten.adaptive_max_pool2d.default: _maximum2d[0],
    _aten.adaptive_max_pool2d_backward.default: _maximum2d[1],
    _aten.adaptive_max_pool3d.default: _maximum3d[0],
    _aten.adaptive_max_pool3d_backward.default: _maximum3d[1],
    _aten.max_unpool2d.default: _max_unpool(2),
    _aten.max_unpool3d.default: _max_unpool(3),
}
