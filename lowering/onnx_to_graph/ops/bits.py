"""Operators on the bits of integers."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, element_type_of

HELD = 32
"""Bits of a value that the machine holds, also of wider types."""


def _known(node: Node, to_left: bool) -> np.ndarray | None:
    """The result where it is known when compiling. Raises CompileError where a value would leave the bits that are
    held, whatever it is."""
    x, distance = node.known(0), node.known(1)
    if distance is None:
        return None
    width = distance.dtype.itemsize * 8
    if x is not None:
        inside = (distance >= 0) & (distance < width)
        shifted = (np.left_shift if to_left else np.right_shift)(x, np.where(inside, distance, 0))
        return np.where(inside, shifted, 0 if to_left else np.where(x < 0, -1, 0)).astype(x.dtype)
    far = distance[(distance >= HELD) & (distance < width)]
    if to_left and far.size:
        message = f"it shifts by {far[0]} bits to the left, and values of {width} bits have {HELD} on the machine"
        hint = f"shift by less than {HELD}, or do it on the host"
        raise node.error(message, hint=hint)
    return None


def bit_shift(node: Node) -> Any:
    """BitShift. A distance outside the width of the type leaves what endless shifting would."""
    x, distance = node.operand(0), node.operand(1)
    element: Any = element_type_of(x)
    to_left = node.attribute("direction") == "LEFT"
    if element.width > HELD and (known := _known(node, to_left)) is not None:
        return constant(known)
    zero = constant(0, like=x)
    width = min(element.width, HELD)
    outside = graph.GreaterOrEqual.build(distance, constant(width, like=x)).result
    left_over = zero
    if not element.is_unsigned:
        outside = graph.Or.build(outside, graph.Less.build(distance, zero).result).result
        if not to_left:
            minus_one = graph.Sub.build(zero, constant(1, like=x)).result
            left_over = graph.Where.build(graph.Less.build(x, zero).result, minus_one, zero).result
    inside = graph.Where.build(outside, zero, distance).result
    shifted = (graph.ShiftLeft if to_left else graph.ShiftRight).build(x, inside).result
    return graph.Where.build(outside, left_over, shifted).result


def bitwise_not(node: Node) -> Any:
    """BitwiseNot: every bit changes."""
    x = node.operand(0)
    ones = graph.Sub.build(constant(0, like=x), constant(1, like=x)).result
    return graph.BitwiseXor.build(x, ones).result
