"""Derivatives of pooling: the gradient of a window goes to the elements it came from."""

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint
from mnc.passes.autodiff.build import (
    Value,
    broadcast_to,
    constant,
    elements,
    mul,
    pad,
    reduce,
    reshape,
    scale,
    shape_of,
    slice_,
    where,
)
from mnc.passes.autodiff.convolution import Window, spread


def pooling(a: Adjoint) -> list[Value]:
    """Average and max; every channel of every sample is an image of its own."""
    shape, kind = a.shape(0), a.text("kind")
    if kind in ("average", "max") and _is_partition(a):
        return [_average_of_blocks(a) if kind == "average" else _maximum_of_blocks(a)]
    images = elements(shape[:2])
    g = reshape(a.gradient, [images, 1, *shape_of(a.gradient)[2:]])
    if kind == "average":
        return [reshape(_average(a, g), shape)]
    if kind == "max":
        return [reshape(_maximum(a, g), shape)]
    raise a.error(f"pooling of kind {kind} has no rule for differentiation", "use average pooling of a power")


def _is_partition(a: Adjoint) -> bool:
    """Whether the windows lie side by side, inside the data."""
    window, kernel = Window.of(a), a.ints("kernel")
    covered = [k * o for k, o in zip(kernel, shape_of(a.gradient)[2:], strict=True)]
    inside = all(c <= extent for c, extent in zip(covered, a.shape(0)[2:], strict=True))
    dense = all(d == 1 or k == 1 for d, k in zip(window.dilations, kernel, strict=True))
    return window.strides == kernel and dense and inside and not any(window.pads)


def _blocks(value: Value, kernel: Sequence[int]) -> Value:
    """[N, C, o0, o1...] -> [N, C, o0, k0, o1, k1...], of windows side by side; of one element of each with k = 1."""
    shape = shape_of(value)
    inner = [n for o, k in zip(shape[2:], kernel, strict=True) for n in (o // k, k)]
    return reshape(value, [*shape[:2], *inner])


def _unblocked(value: Value, shape: Sequence[int]) -> Value:
    """The inverse of `_blocks`, with zeros for what no window covers."""
    inner = shape_of(value)[2:]
    whole = [*shape[:2], *(o * k for o, k in zip(inner[::2], inner[1::2], strict=True))]
    missing = [extent - have for extent, have in zip(shape, whole, strict=True)]
    return pad(reshape(value, whole), [0] * len(shape), missing)


def _average_of_blocks(a: Adjoint) -> Value:
    kernel = a.ints("kernel")
    shares = _blocks(scale(a.gradient, 1 / elements(kernel)), [1] * len(kernel))
    inner = [n for o, k in zip(shape_of(a.gradient)[2:], kernel, strict=True) for n in (o, k)]
    return _unblocked(broadcast_to(shares, [*a.shape(0)[:2], *inner]), a.shape(0))


def _maximum_of_blocks(a: Adjoint) -> Value:
    """Of equal elements the first one in the window gets the gradient."""
    kernel, shape = a.ints("kernel"), a.shape(0)
    one, beyond = [1] * len(kernel), elements(kernel)
    covered = [k * o for k, o in zip(kernel, shape_of(a.gradient)[2:], strict=True)]
    windows = _blocks(slice_(a.operands[0], [0] * len(shape), [*shape[:2], *covered]), kernel)
    in_window = [n for k in kernel for n in (1, k)]
    places = constant(np.arange(beyond).reshape([1, 1, *in_window]), a.gradient)
    is_largest = graph.Equal.build(windows, _blocks(a.result, one)).result
    first = reduce(where(is_largest, places, beyond), [3 + 2 * i for i in range(len(kernel))], "min")
    is_first = graph.Equal.build(places, first).result
    return _unblocked(where(is_first, _blocks(a.gradient, one), 0), shape)


def _average(a: Adjoint, g: Value) -> Value:
    window, kernel, extents = Window.of(a), a.ints("kernel"), a.shape(0)[2:]
    counts = _window_sizes(window, kernel, extents, shape_of(g)[2:], a.bool("count_include_pad"))
    shares = mul(g, constant(1.0 / counts, g))
    return spread(shares, constant(np.ones((1, 1, *kernel)), g), window, extents)


def _window_sizes(
    window: Window, kernel: Sequence[int], extents: Sequence[int], outputs: Sequence[int], with_padding: bool
) -> np.ndarray:
    """Number of elements each window averages over, [1, 1, outputs...]."""
    sizes = np.ones([1] * len(kernel))
    for i, extent in enumerate(extents):
        first = np.arange(outputs[i])[:, None] * window.strides[i] - window.pads[i]
        places = first + np.arange(kernel[i])[None, :] * window.dilations[i]
        start, stop = (-window.pads[i], extent + window.pads[len(kernel) + i]) if with_padding else (0, extent)
        counts = ((places >= start) & (places < stop)).sum(axis=1)
        sizes = sizes * counts.reshape([-1 if j == i else 1 for j in range(len(kernel))])
    return sizes[None, None]


def _maximum(a: Adjoint, g: Value) -> Value:
    """Of equal elements the first one in the window gets the gradient."""
    window, kernel, extents = Window.of(a), a.ints("kernel"), a.shape(0)[2:]
    outputs, rank = shape_of(g)[2:], len(kernel)
    x = reshape(a.operands[0], [shape_of(g)[0], 1, *extents])
    largest = reshape(a.result, shape_of(g))
    low = window.pads[:rank]
    reach = [window.strides[i] * (outputs[i] - 1) + window.dilations[i] * (kernel[i] - 1) + 1 for i in range(rank)]
    high = [max(reach[i] - low[i] - extents[i], 0) for i in range(rank)]
    wide = pad(x, [0, 0, *low], [0, 0, *high], -np.inf)
    parts, found = [], None
    for place in itertools.product(*map(range, kernel)):
        starts = [window.dilations[i] * place[i] for i in range(rank)]
        limits = [starts[i] + window.strides[i] * (outputs[i] - 1) + 1 for i in range(rank)]
        part = slice_(wide, [0, 0, *starts], [shape_of(g)[0], 1, *limits], [1, 1, *window.strides])
        hit = graph.Equal.build(part, largest).result
        first = hit if found is None else graph.And.build(hit, graph.Not.build(found).result).result
        found = hit if found is None else graph.Or.build(found, hit).result
        parts.append(where(first, g, 0))
    stacked = functools.reduce(lambda x, y: graph.Concat.build(x, y, axis=1).result, parts)
    one_hot = np.eye(len(parts)).reshape(len(parts), 1, *kernel)
    return spread(stacked, constant(one_hot, g), window, extents)
