"""Pooling -> `tensor.pad` with the neutral value and a reducing `linalg.generic` over windows."""

from collections.abc import Callable, Sequence

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects.graph.attributes import numpy_dtype
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.emit import (
    constant,
    element_of,
    empty,
    filled,
    generic,
    lowest,
    pointwise,
    scalar,
    shape_of,
)
from mnc.lowering.graph_to_linalg.reduction import each
from mnc.lowering.graph_to_linalg.shape import padded
from mnc.lowering.graph_to_linalg.source import Handler, Source
from mnc.lowering.graph_to_linalg.window import Window

Combine = Callable[[ir.Value, ir.Value], ir.Value]


def reduce_windows(
    data: ir.Value, window: Window, outputs: Sequence[int], neutral: float, operation: Combine
) -> ir.Value:
    """Fold every window of the padded `data` (N, C, spatial...).

    The second operand is never read: its shape gives the kernel loops their extents.
    """
    element, rank = element_of(data), len(outputs)
    kernel_loops = window.loops(2 + rank)
    shape_only = empty([k for k in window.kernel if k > 1], element)
    loops = [loop for loop in kernel_loops if loop is not None]
    reads = [0, 1, *window.reads(range(2, 2 + rank), kernel_loops)]
    init = filled([*shape_of(data)[:2], *outputs], element, neutral)
    if not loops:
        return pointwise_windows(data, reads, init)
    return generic(
        [data, shape_only],
        [reads, loops, list(range(2 + rank))],
        [init],
        "p" * (2 + rank) + "r" * len(loops),
        lambda a, _, total: operation(total, a),
    )


def pointwise_windows(data: ir.Value, reads: Sequence[object], init: ir.Value) -> ir.Value:
    """Windows of one element: a strided copy."""
    rank = len(reads)
    return generic([data], [reads, list(range(rank))], [init], "p" * rank, lambda a, _: a)


def _pads_for(source: Source, window: Window, outputs: Sequence[int]) -> tuple[list[int], list[int]]:
    """Low and high padding; the high one is what the last window of ``ceil_mode`` needs."""
    pads, extents = source.ints("pads"), source.shape(0)[2:]
    rank = len(extents)
    high = []
    for i in range(rank):
        needed = (outputs[i] - 1) * window.strides[i] + window.dilations[i] * (window.kernel[i] - 1) + 1
        high.append(max(pads[rank + i], needed - extents[i] - pads[i]))
    return pads[:rank], high


def _reciprocal_counts(source: Source, window: Window, outputs: Sequence[int]) -> np.ndarray:
    """1 / (number of elements that each window averages), of the spatial shape."""
    pads, extents = source.ints("pads"), source.shape(0)[2:]
    rank, include = len(extents), source.bool("count_include_pad")
    counts = np.ones(())
    for i, (extent, count) in enumerate(zip(extents, outputs, strict=True)):
        start, stop = (0, pads[i] + extent + pads[rank + i]) if include else (pads[i], pads[i] + extent)
        counts = np.multiply.outer(counts, window.inside(i, count, start, stop))
    return 1.0 / np.maximum(counts, 1)


def _average(source: Source, total: ir.Value, window: Window, outputs: Sequence[int]) -> ir.Value:
    element = source.element(0)
    factors = _reciprocal_counts(source, window, outputs)
    if np.all(factors == factors.flat[0]):
        return each(total, lambda a: s.multiply(a, scalar(float(factors.flat[0]), element), element))
    table = constant(factors.astype(numpy_dtype(element)), element)
    return pointwise([total, table], shape_of(total), element, lambda a, b: s.multiply(a, b, element))


def _p_norm(data: ir.Value, p: int, element: ir.Type, fold: Callable[[ir.Value], ir.Value]) -> ir.Value:
    exponent = float(p)

    def to_power(a: ir.Value) -> ir.Value:
        if p == 2:
            return s.multiply(a, a, element)
        magnitude = s.absolute(a, element)
        return magnitude if p == 1 else s.power(magnitude, scalar(exponent, element), element)

    total = fold(each(data, to_power))
    if p == 1:
        return total
    return each(total, lambda a: s.power(a, scalar(1 / exponent, element), element))


def lower_pool(source: Source, operand: ir.Value) -> ir.Value:
    """Pad, fold the windows, then scale (average) or take the root (lp)."""
    element, kind = source.element(0), source.text("kind")
    window = Window(tuple(source.ints("kernel")), tuple(source.ints("strides")), tuple(source.ints("dilations")))
    outputs = source.result_shape()[2:]
    low, high = _pads_for(source, window, outputs)
    neutral = lowest(element) if kind == "max" else 0

    def fold(value: ir.Value) -> ir.Value:
        value = padded(value, [0, 0, *low], [0, 0, *high], neutral)
        if kind == "max":
            return reduce_windows(value, window, outputs, neutral, lambda a, b: s.maximum(a, b, element))
        return reduce_windows(value, window, outputs, neutral, lambda a, b: s.add(a, b, element))

    if kind == "lp":
        return _p_norm(operand, source.int("p"), element, fold)
    result = fold(operand)
    return _average(source, result, window, outputs) if kind == "average" else result


HANDLERS: dict[str, Handler] = {"graph.pool": lower_pool}
