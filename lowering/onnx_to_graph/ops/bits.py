"""Operators on the bits of integers."""

from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, element_type_of


def bit_shift(node: Node) -> Any:
    """BitShift. A distance outside the width of the type leaves what endless shifting would."""
    x, distance = node.operand(0), node.operand(1)
    element: Any = element_type_of(x)
    to_left = node.attribute("direction") == "LEFT"
    zero = constant(0, like=x)
    width = min(element.width, 32)  # wider types hold values of 32 bits
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
