"""Contractions and windows: matmul, gemm, convolutions, pooling."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mnc.dialects.graph.shapes import window

Array = np.ndarray
Ints = Sequence[int]


def gemm(a: Array, b: Array, c: Array | None = None, *, alpha: float, beta: float, transA: bool, transB: bool) -> Array:
    """alpha * A' @ B' + beta * c."""
    product = np.matmul(a.T if transA else a, b.T if transB else b)
    product = product if alpha == 1 else product * np.asarray(alpha).astype(product.dtype)
    return product if c is None else product + (c if beta == 1 else c * np.asarray(beta).astype(c.dtype))


def windows(x: Array, kernel: Ints, strides: Ints, dilations: Ints, counts: Ints) -> Array:
    """All windows of the spatial dimensions of padded (N, C, spatial...): (N, C, place..., element...)."""
    rank = len(kernel)
    reach = [dilations[i] * (kernel[i] - 1) + 1 for i in range(rank)]
    view = sliding_window_view(x, reach, tuple(range(2, 2 + rank)))  # pyright: ignore[reportCallIssue, reportArgumentType]
    places = tuple(slice(0, (counts[i] - 1) * strides[i] + 1, strides[i]) for i in range(rank))
    elements = tuple(slice(None, None, dilation) for dilation in dilations)
    return view[(slice(None), slice(None), *places, *elements)]


def conv(x: Array, w: Array, bias: Array | None = None, *, strides: Ints, pads: Ints, dilations: Ints,
         group: int) -> Array:  # fmt: skip
    """Cross-correlation, group by group."""
    rank, outputs = x.ndim - 2, w.shape[0] // group
    counts = window(x.shape[2:], w.shape[2:], strides, pads, dilations)
    padded = np.pad(x, [(0, 0), (0, 0), *[(pads[i], pads[rank + i]) for i in range(rank)]])
    seen = windows(padded, w.shape[2:], strides, dilations, counts)
    inner, elements = w.shape[1], tuple(range(2, 2 + rank))
    parts = [
        np.tensordot(
            seen[:, g * inner : (g + 1) * inner],
            w[g * outputs : (g + 1) * outputs],
            ((1, *range(2 + rank, 2 + 2 * rank)), (1, *elements)),
        )
        for g in range(group)
    ]
    result = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
    return result if bias is None else result + bias.reshape(-1, *[1] * rank)


def conv_transpose(x: Array, w: Array, bias: Array | None = None, *, strides: Ints, pads: Ints, dilations: Ints,
                   output_padding: Ints, group: int) -> Array:  # fmt: skip
    """Every input element adds its multiple of the kernel to the result, which is then cut by the pads."""
    rank, inner, outputs = x.ndim - 2, x.shape[1] // group, w.shape[1]
    extents, kernel = x.shape[2:], w.shape[2:]
    full = [strides[i] * (extents[i] - 1) + dilations[i] * (kernel[i] - 1) + 1 + output_padding[i] for i in range(rank)]
    result = np.zeros((x.shape[0], outputs * group, *full), x.dtype)
    for g in range(group):
        data, weight = x[:, g * inner : (g + 1) * inner], w[g * inner : (g + 1) * inner]
        for place in np.ndindex(*kernel):
            addend = np.moveaxis(np.tensordot(data, weight[(slice(None), slice(None), *place)], (1, 0)), -1, 1)
            target = tuple(
                slice(place[i] * dilations[i], place[i] * dilations[i] + strides[i] * (extents[i] - 1) + 1, strides[i])
                for i in range(rank)
            )
            result[(slice(None), slice(g * outputs, (g + 1) * outputs), *target)] += addend
    cut = tuple(slice(pads[i], full[i] - pads[rank + i]) for i in range(rank))
    result = result[(slice(None), slice(None), *cut)]
    return result if bias is None else result + bias.reshape(-1, *[1] * rank)


def pool(x: Array, kind: str, kernel: Ints, strides: Ints, pads: Ints, dilations: Ints, ceil_mode: bool,
         count_include_pad: bool, p: int = 2) -> Array:  # fmt: skip
    """Fold windows by max, average or the p-norm."""
    rank = len(kernel)
    counts = window(x.shape[2:], kernel, strides, pads, dilations, ceil_mode)
    reach = [(counts[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 for i in range(rank)]
    beyond = [max(0, reach[i] - x.shape[2 + i] - pads[i]) for i in range(rank)]
    widths = [(0, 0), (0, 0), *[(pads[i], beyond[i]) for i in range(rank)]]
    folded = tuple(range(2 + rank, 2 + 2 * rank))
    if kind == "max":
        lowest = -math.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        return windows(np.pad(x, widths, constant_values=lowest), kernel, strides, dilations, counts).max(axis=folded)
    seen = windows(np.pad(x, widths), kernel, strides, dilations, counts)
    if kind == "lp":
        return (np.abs(seen) ** p).sum(axis=folded) ** (1 / p)
    inside = np.ones_like(x)
    declared = [(0, 0), (0, 0), *[(pads[i], min(pads[rank + i], beyond[i])) for i in range(rank)]]
    inside = np.pad(inside, declared, constant_values=int(count_include_pad))
    inside = np.pad(inside, [(0, w + x.shape[i] + v - inside.shape[i]) for i, (v, w) in enumerate(widths)])
    return seen.sum(axis=folded) / windows(inside, kernel, strides, dilations, counts).sum(axis=folded)


DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    "matmul": np.matmul,
    "gemm": gemm,
    "conv": conv,
    "conv_transpose": conv_transpose,
    "pool": pool,
}
