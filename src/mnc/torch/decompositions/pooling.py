"""Gradients of pooling, by comparing and spreading instead of scattering; adaptive pooling as average pooling."""

import itertools
from typing import Any

import torch

_aten = torch.ops.aten


def _pairs(values: Any, default: list[int] | None = None) -> list[int]:
    given = [values] if isinstance(values, int) else list(values)
    if not given:
        return list(default or [])
    return given * 2 if len(given) == 1 else given


def _spread(part: torch.Tensor, stride: list[int], offset: list[int], extents: list[int]) -> torch.Tensor:
    """Zeros of the spatial `extents` with the elements of `part` at ``offset + i * stride``; beyond, they are cut."""
    *outer, height, width = part.shape
    gapped = part.reshape(*outer, height, 1, width, 1)
    gapped = _aten.constant_pad_nd(gapped, [0, stride[1] - 1, 0, 0, 0, stride[0] - 1], 0.0)
    wide = gapped.reshape(*outer, height * stride[0], width * stride[1])
    high = [extents[i] - offset[i] - wide.shape[i - 2] for i in range(2)]
    return _aten.constant_pad_nd(wide, [offset[1], high[1], offset[0], high[0]], 0.0)


def _is_partition(extents: list[int], kernel: list[int], stride: list[int], padding: list[int], out: list[int]) -> bool:
    """Whether the windows lie side by side, inside the tensor."""
    inside = all(o * k <= e for o, k, e in zip(out, kernel, extents, strict=True))
    return stride == kernel and not any(padding) and inside


def _blocks(x: torch.Tensor, kernel: list[int], out: list[int]) -> torch.Tensor:
    """[..., H, W] -> [..., out0, kernel0, out1, kernel1]: side by side windows as dimensions of their own."""
    cut = x[..., : out[0] * kernel[0], : out[1] * kernel[1]]
    return cut.reshape(*x.shape[:-2], out[0], kernel[0], out[1], kernel[1])


def _unblocked(x: torch.Tensor, extents: list[int]) -> torch.Tensor:
    """The inverse of `_blocks`; what no window covers is zero."""
    *outer, rows, height, columns, width = x.shape
    whole = x.reshape(*outer, rows * height, columns * width)
    low = [extents[i] - whole.shape[i - 2] for i in range(2)]
    return _aten.constant_pad_nd(whole, [0, low[1], 0, low[0]], 0.0) if any(low) else whole


def _partition_gradient(g: torch.Tensor, x: torch.Tensor, largest: torch.Tensor, kernel: list[int]) -> torch.Tensor:
    """Max pooling by windows side by side: the first place that equals the maximum gets the gradient."""
    out = list(g.shape[-2:])
    places = torch.arange(kernel[0] * kernel[1], dtype=x.dtype).reshape(kernel[0], 1, kernel[1])
    windows = _blocks(x, kernel, out)
    beyond = float(kernel[0] * kernel[1])
    hits = torch.where(windows == largest[..., :, None, :, None], places, beyond)
    first = hits.amin([-3, -1], keepdim=True)
    return _unblocked(torch.where(places == first, g[..., :, None, :, None], 0.0), list(x.shape[-2:]))


def _window_gradient(
    g: torch.Tensor, x: torch.Tensor, largest: torch.Tensor, kernel: list[int], stride: list[int], padding: list[int],
    dilation: list[int],
) -> torch.Tensor:
    """Max pooling by windows that overlap: one term per place in the window."""
    out, extents = list(g.shape[-2:]), list(x.shape[-2:])
    span = [(out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 for i in range(2)]
    after = [max(span[i] - extents[i] - padding[i], 0) for i in range(2)]
    padded = _aten.constant_pad_nd(x, [padding[1], after[1], padding[0], after[0]], -float("inf"))
    total = taken = None
    for place in itertools.product(range(kernel[0]), range(kernel[1])):
        start = [place[i] * dilation[i] for i in range(2)]
        ends = [start[i] + (out[i] - 1) * stride[i] + 1 for i in range(2)]
        seen = padded[..., start[0] : ends[0] : stride[0], start[1] : ends[1] : stride[1]]
        hit = seen == largest
        hit, taken = (hit, hit) if taken is None else (hit & ~taken, hit | taken)
        part = _spread(torch.where(hit, g, 0.0), stride, start, list(padded.shape[-2:]))
        total = part if total is None else total + part
    assert total is not None  # a kernel has at least one place
    return total[..., padding[0] : padding[0] + extents[0], padding[1] : padding[1] + extents[1]]


def max_pool2d_with_indices_backward(
    grad_output: torch.Tensor, self: torch.Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: torch.Tensor,
) -> torch.Tensor:
    """``aten.max_pool2d_with_indices_backward``: among equal elements of a window the first one counts."""
    kernel = _pairs(kernel_size)
    stride, padding, dilation = _pairs(stride, kernel), _pairs(padding), _pairs(dilation)
    largest = _aten.max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode)[0]
    extents, out = list(self.shape[-2:]), list(grad_output.shape[-2:])
    if dilation == [1, 1] and _is_partition(extents, kernel, stride, padding, out):
        return _partition_gradient(grad_output, self, largest, kernel)
    return _window_gradient(grad_output, self, largest, kernel, stride, padding, dilation)


def _counts(extent: int, out: int, kernel: int, stride: int, padding: int, include_pad: bool) -> list[int]:
    """How many elements each window of one dimension is averaged over."""
    counts = []
    for i in range(out):
        low = i * stride - padding
        high = min(low + kernel, extent + padding)
        counts.append(high - low if include_pad else min(high, extent) - max(low, 0))
    return counts


def _averaged(
    g: torch.Tensor, kernel: list[int], stride: list[int], padding: list[int], extents: list[int], include_pad: bool
) -> torch.Tensor:
    """The gradient divided by what each window was divided by."""
    out = list(g.shape[-2:])
    counts = [_counts(extents[i], out[i], kernel[i], stride[i], padding[i], include_pad) for i in range(2)]
    factors = [[1 / (a * b) for b in counts[1]] for a in counts[0]]
    flat = {value for row in factors for value in row}
    return g * flat.pop() if len(flat) == 1 else g * torch.tensor(factors, dtype=g.dtype)


def avg_pool2d_backward(
    grad_output: torch.Tensor, self: torch.Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> torch.Tensor:
    """``aten.avg_pool2d_backward``."""
    kernel = _pairs(kernel_size)
    stride, padding, extents = _pairs(stride, kernel), _pairs(padding), list(self.shape[-2:])
    if divisor_override:
        share = grad_output * (1 / divisor_override)
    else:
        share = _averaged(grad_output, kernel, stride, padding, extents, count_include_pad)
    out = list(grad_output.shape[-2:])
    if _is_partition(extents, kernel, stride, padding, out):
        shape = [*share.shape[:-2], out[0], kernel[0], out[1], kernel[1]]
        return _unblocked(share[..., :, None, :, None].expand(shape), extents)
    padded = [max(extents[i] + 2 * padding[i], (out[i] - 1) * stride[i] + kernel[i]) for i in range(2)]
    places = itertools.product(range(kernel[0]), range(kernel[1]))
    total = sum((_spread(share, stride, list(place), padded) for place in places), start=0.0)
    assert isinstance(total, torch.Tensor)  # a kernel has at least one place
    return total[..., padding[0] : padding[0] + extents[0], padding[1] : padding[1] + extents[1]]


def _even_kernel(extents: list[int], out: list[int]) -> list[int] | None:
    """Kernel of the average pooling that adaptive pooling is when the extents divide."""
    even = all(e % o == 0 for e, o in zip(extents, out, strict=True))
    return [e // o for e, o in zip(extents, out, strict=True)] if even else None


def adaptive_avg_pool2d(self: torch.Tensor, output_size: list[int]) -> torch.Tensor:
    """``aten._adaptive_avg_pool2d`` for extents that divide; others stay whole, and are refused."""
    kernel = _even_kernel(list(self.shape[-2:]), list(output_size))
    return NotImplemented if kernel is None else _blocks(self, kernel, list(output_size)).mean([-3, -1])


def adaptive_avg_pool2d_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    """``aten._adaptive_avg_pool2d_backward`` for extents that divide."""
    kernel = _even_kernel(list(self.shape[-2:]), list(grad_output.shape[-2:]))
    if kernel is None:
        return NotImplemented
    return avg_pool2d_backward(grad_output, self, kernel, kernel, [0, 0], False, True, None)


DECOMPOSITIONS = {
    _aten.max_pool2d_with_indices_backward.default: max_pool2d_with_indices_backward,
    _aten.avg_pool2d_backward.default: avg_pool2d_backward,
    _aten._adaptive_avg_pool2d.default: adaptive_avg_pool2d,
    _aten._adaptive_avg_pool2d_backward.default: adaptive_avg_pool2d_backward,
}
