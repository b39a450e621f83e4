"""Gradients of pooling, by comparing and spreading instead of scattering.

Written for any number of spatial dimensions, the last ones of a tensor.
"""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import torch

from mnc.torch.decompositions.resampling import constant

_aten = torch.ops.aten
Extents = list[int]


def _all(values: Any, rank: int, default: Extents | None = None) -> Extents:
    """One value per spatial dimension; torch lets one stand for all, and leaves strides out."""
    given = [values] if isinstance(values, int) else list(values)
    if not given:
        return list(default or [])
    return given * rank if len(given) == 1 else given


def _interleaved(first: Iterable[int], second: Iterable[int]) -> Extents:
    """[a, b], [c, d] -> [a, c, b, d]."""
    return [value for pair in zip(first, second, strict=True) for value in pair]


def _padded(x: torch.Tensor, low: Extents, high: Extents, value: float = 0.0) -> torch.Tensor:
    """Spatial dimensions with this much put before and behind; negative amounts cut."""
    return _aten.constant_pad_nd(x, _interleaved(reversed(low), reversed(high)), value)


def _part(x: torch.Tensor, start: Extents, extents: Extents, step: Extents | None = None) -> torch.Tensor:
    """`extents` elements of every spatial dimension, from `start` on, each `step`-th."""
    rank = len(extents)
    for i, (first, count, by) in enumerate(zip(start, extents, step or [1] * rank, strict=True)):
        x = _aten.slice(x, i - rank, first, first + (count - 1) * by + 1, by)
    return x


def _spread(part: torch.Tensor, stride: Extents, offset: Extents, extents: Extents) -> torch.Tensor:
    """Zeros of the spatial `extents` with the elements of `part` at ``offset + i * stride``; beyond, they are cut."""
    rank = len(stride)
    outer, inner = part.shape[:-rank], part.shape[-rank:]
    gapped = part.reshape(*outer, *_interleaved(inner, [1] * rank))
    gapped = _padded(gapped, [0] * (2 * rank), _interleaved([0] * rank, [s - 1 for s in stride]))
    wide = gapped.reshape(*outer, *(size * step for size, step in zip(inner, stride, strict=True)))
    high = [extents[i] - offset[i] - wide.shape[i - rank] for i in range(rank)]
    return _padded(wide, offset, high)


def _is_partition(extents: Extents, kernel: Extents, stride: Extents, padding: Extents, out: Extents) -> bool:
    """Whether the windows lie side by side, inside the tensor."""
    inside = all(o * k <= e for o, k, e in zip(out, kernel, extents, strict=True))
    return stride == kernel and not any(padding) and inside


def blocks(x: torch.Tensor, kernel: Extents, out: Extents) -> torch.Tensor:
    """[..., H, W] -> [..., out0, kernel0, out1, kernel1]: side by side windows as dimensions of their own."""
    cut = _part(x, [0] * len(out), [o * k for o, k in zip(out, kernel, strict=True)])
    return cut.reshape(*x.shape[: -len(out)], *_interleaved(out, kernel))


def _within_blocks(x: torch.Tensor, rank: int) -> torch.Tensor:
    """One element per window -> a tensor that broadcasts with `blocks`."""
    return x.reshape(*x.shape[:-rank], *_interleaved(x.shape[-rank:], [1] * rank))


def _unblocked(x: torch.Tensor, extents: Extents) -> torch.Tensor:
    """The inverse of `blocks`; what no window covers is zero."""
    rank = len(extents)
    outer, inner = x.shape[: -2 * rank], x.shape[-2 * rank :]
    whole = x.reshape(*outer, *(inner[2 * i] * inner[2 * i + 1] for i in range(rank)))
    missing = [extents[i] - whole.shape[i - rank] for i in range(rank)]
    return _padded(whole, [0] * rank, missing) if any(missing) else whole


def _partition_gradient(g: torch.Tensor, x: torch.Tensor, largest: torch.Tensor, kernel: Extents) -> torch.Tensor:
    """Max pooling by windows side by side: the first place that equals the maximum gets the gradient."""
    rank, beyond = len(kernel), math.prod(kernel)
    places = torch.arange(beyond, dtype=x.dtype).reshape(_interleaved([1] * rank, kernel))
    windows = blocks(x, kernel, list(g.shape[-rank:]))
    hits = torch.where(windows == _within_blocks(largest, rank), places, float(beyond))
    first = hits.amin([-1 - 2 * i for i in range(rank)], keepdim=True)
    return _unblocked(torch.where(places == first, _within_blocks(g, rank), 0.0), list(x.shape[-rank:]))


def _window_gradient(
    g: torch.Tensor, x: torch.Tensor, largest: torch.Tensor, kernel: Extents, stride: Extents, padding: Extents,
    dilation: Extents,
) -> torch.Tensor:
    """Max pooling by windows that overlap: one term per place in the window."""
    rank = len(kernel)
    out, extents = list(g.shape[-rank:]), list(x.shape[-rank:])
    span = [(out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 for i in range(rank)]
    after = [max(span[i] - extents[i] - padding[i], 0) for i in range(rank)]
    padded = _padded(x, padding, after, -float("inf"))
    total = taken = None
    for place in itertools.product(*map(range, kernel)):
        start = [place[i] * dilation[i] for i in range(rank)]
        hit = _part(padded, start, out, stride) == largest
        hit, taken = (hit, hit) if taken is None else (hit & ~taken, hit | taken)
        part = _spread(torch.where(hit, g, 0.0), stride, start, list(padded.shape[-rank:]))
        total = part if total is None else total + part
    assert total is not None  # a kernel has at least one place
    return _part(total, padding, extents)


def max_gradient(
    g: torch.Tensor, x: torch.Tensor, largest: torch.Tensor, kernel: Extents, stride: Extents, padding: Extents,
    dilation: Extents,
) -> torch.Tensor:
    """Gradient of max pooling: among equal elements of a window the first one counts."""
    rank = len(kernel)
    sides = _is_partition(list(x.shape[-rank:]), kernel, stride, padding, list(g.shape[-rank:]))
    if dilation == [1] * rank and sides:
        return _partition_gradient(g, x, largest, kernel)
    return _window_gradient(g, x, largest, kernel, stride, padding, dilation)


def _max_pool_backward(rank: int, pool: Any) -> Any:
    def backward(
        grad_output: torch.Tensor, self: torch.Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        ceil_mode: bool, indices: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        """``aten.max_poolNd_with_indices_backward``."""
        kernel = _all(kernel_size, rank)
        stride, padding, dilation = _all(stride, rank, kernel), _all(padding, rank), _all(dilation, rank)
        largest = pool(self, kernel, stride, padding, dilation, ceil_mode)[0]
        return max_gradient(grad_output, self, largest, kernel, stride, padding, dilation)

    return backward


def _counts(extent: int, out: int, kernel: int, stride: int, padding: int, include_pad: bool) -> Extents:
    """How many elements each window of one dimension is averaged over."""
    counts = []
    for i in range(out):
        low = i * stride - padding
        high = min(low + kernel, extent + padding)
        counts.append(high - low if include_pad else min(high, extent) - max(low, 0))
    return counts


def _averaged(
    g: torch.Tensor, kernel: Extents, stride: Extents, padding: Extents, extents: Extents, include_pad: bool
) -> torch.Tensor:
    """The gradient divided by what each window was divided by."""
    out = list(g.shape[-len(kernel) :])
    windows = zip(extents, out, kernel, stride, padding, strict=True)
    counts = [_counts(*window, include_pad) for window in windows]
    factors = [1 / math.prod(along) for along in itertools.product(*counts)]
    if len(set(factors)) == 1:
        return g * factors[0]
    return g * constant(factors, g.dtype).reshape(out)


def _avg_pool_backward(rank: int) -> Any:
    def backward(
        grad_output: torch.Tensor, self: torch.Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> torch.Tensor:  # fmt: skip
        """``aten.avg_poolNd_backward``."""
        kernel, extents = _all(kernel_size, rank), list(self.shape[-rank:])
        stride, padding = _all(stride, rank, kernel), _all(padding, rank)
        if divisor_override:
            share = grad_output * (1 / divisor_override)
        else:
            share = _averaged(grad_output, kernel, stride, padding, extents, count_include_pad)
        return average_gradient(share, extents, kernel, stride, padding)

    return backward


def average_gradient(
    share: torch.Tensor, extents: Extents, kernel: Extents, stride: Extents, padding: Extents
) -> torch.Tensor:
    """What every window gives to each of its elements, summed over the windows."""
    rank = len(kernel)
    out = list(share.shape[-rank:])
    if _is_partition(extents, kernel, stride, padding, out):
        return _unblocked(_within_blocks(share, rank).expand(*share.shape[:-rank], *_interleaved(out, kernel)), extents)
    padded = [max(extents[i] + 2 * padding[i], (out[i] - 1) * stride[i] + kernel[i]) for i in range(rank)]
    places = itertools.product(*map(range, kernel))
    total = sum((_spread(share, stride, list(place), padded) for place in places), start=0.0)
    assert isinstance(total, torch.Tensor)  # a kernel has at least one place
    return _part(total, padding, extents)


max_pool2d_with_indices_backward = _max_pool_backward(2, _aten.max_pool2d_with_indices)
avg_pool2d_backward = _avg_pool_backward(2)

DECOMPOSITIONS = {
    _aten.max_pool2d_with_indices_backward.default: max_pool2d_with_indices_backward,
    _aten.max_pool3d_with_indices_backward.default: _max_pool_backward(3, _aten.max_pool3d_with_indices),
    _aten.avg_pool2d_backward.default: avg_pool2d_backward,
    _aten.avg_pool3d_backward.default: _avg_pool_backward(3),
}
