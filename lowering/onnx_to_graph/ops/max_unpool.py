"""MaxUnpool: what MaxPool left goes back to where it was found."""

import math
from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.scatter import scattered


def max_unpool(node: Node) -> Any:
    """MaxUnpool. The indices count the elements of the shape that follows from the attributes, whatever the result's
    shape is: it is filled up with zeros."""
    x, indices = node.operand(0), node.operand(1)
    shape = _unpooled_shape(node, shape_of(x))
    if shape_of(indices) != shape_of(x):
        raise node.error(f"its indices have the shape {shape_of(indices)}, its values {shape_of(x)}")
    whole = reshape(scattered(x, indices, math.prod(shape)), shape)
    wanted = node.constant_ints(2, "output_shape") if node.has(2) else shape
    if len(wanted) != len(shape) or any(size < least for size, least in zip(wanted, shape, strict=True)):
        hint = f"give at least {shape}, which follows from kernel, strides and pads"
        raise node.error(f"output_shape {wanted} has no room for the result", hint)
    high = [size - least for size, least in zip(wanted, shape, strict=True)]
    if not any(high):
        return whole
    return graph.Pad.build(whole, low=[0] * len(shape), high=high, value=0.0, mode="constant").result


def _unpooled_shape(node: Node, shape: list[int]) -> list[int]:
    kernel = node.attribute("kernel_shape")
    rank = len(kernel)
    if len(shape) != rank + 2:
        raise node.error(f"kernel_shape {kernel} does not fit values of the shape {shape}")
    strides, pads = node.attribute("strides") or [1] * rank, node.attribute("pads") or [0] * (2 * rank)
    return shape[:2] + [(shape[2 + i] - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i] for i in range(rank)]
