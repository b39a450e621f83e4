"""MaxUnpool: what MaxPool left goes back to where it was found."""

import math
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.pooling import Windows, place_in_window
from mnc.lowering.onnx_to_graph.ops.scatter import scattered


def max_unpool(node: Node) -> Any:
    """MaxUnpool. The indices count the elements of the shape that follows from the attributes, whatever the result's
    shape is: it is filled up with zeros."""
    x, indices = node.operand(0), node.operand(1)
    windows = _windows(node, shape_of(x))
    shape = list(windows.shape)
    if shape_of(indices) != shape_of(x):
        raise node.error(f"its indices have the shape {shape_of(indices)}, its values {shape_of(x)}")
    inside = place_in_window(indices, windows) if windows.are_apart else None
    if inside is None:  # an index may name any element of the result
        whole = reshape(scattered(x, indices, math.prod(shape)), shape)
    else:
        whole = _spread(x, inside, windows)
    wanted = node.constant_ints(2, "output_shape") if node.has(2) else shape
    if len(wanted) != len(shape) or any(size < least for size, least in zip(wanted, shape, strict=True)):
        hint = f"give at least {shape}, which follows from kernel, strides and pads"
        raise node.error(f"output_shape {wanted} has no room for the result", hint)
    high = [size - least for size, least in zip(wanted, shape, strict=True)]
    if not any(high):
        return whole
    return graph.Pad.build(whole, low=[0] * len(shape), high=high, value=0.0, mode="constant").result


def _windows(node: Node, shape: list[int]) -> Windows:
    kernel = node.attribute("kernel_shape")
    rank = len(kernel)
    if len(shape) != rank + 2:
        raise node.error(f"kernel_shape {kernel} does not fit values of the shape {shape}")
    strides, pads = node.attribute("strides") or [1] * rank, node.attribute("pads") or [0] * (2 * rank)
    whole = [(shape[2 + i] - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i] for i in range(rank)]
    return Windows((*shape[:2], *whole), tuple(kernel), tuple(strides), tuple(pads))


def _spread(x: Any, inside: Any, windows: Windows) -> Any:
    """Every value in the window that it came from, at the place `inside` of it, among zeros: an element of the result
    meets one index, and not all of them."""
    rank, (kernel, strides) = len(windows.kernel), (windows.kernel, windows.strides)
    outer, counts = shape_of(x)[:2], shape_of(x)[2:]
    apart = [*outer, *(extent for count in counts for extent in (count, 1))]
    numbers = np.full(strides, -1)  # what lies between windows is nobody's
    numbers[tuple(map(slice, kernel))] = np.arange(math.prod(kernel)).reshape(kernel)
    numbers = numbers.reshape([1, 1, *(extent for stride in strides for extent in (1, stride))])
    hit = graph.Equal.build(reshape(inside, apart), constant(numbers, like=inside)).result
    values = graph.Where.build(hit, reshape(x, apart), constant(0, like=x)).result
    grid = reshape(values, [*outer, *(count * stride for count, stride in zip(counts, strides, strict=True))])
    starts = [0, 0, *windows.pads[:rank]]
    limits = [start + extent for start, extent in zip(starts, windows.shape, strict=True)]
    if not any(starts) and limits == shape_of(grid):
        return grid
    return graph.Slice.build(grid, starts=starts, limits=limits, steps=[1] * len(limits)).result
