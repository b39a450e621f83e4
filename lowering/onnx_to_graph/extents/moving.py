"""Operators that move elements: dimensions whose extents a run finds stay in one piece, padding at its end."""

import math
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.extents.common import (
    Count,
    Extents,
    Handler,
    Rule,
    axis_of,
    give_all,
    refusal,
    refuse_dimensions,
    refuse_others,
)
from mnc.lowering.onnx_to_graph.node import Node, constant, shape_of


def transpose(handler: Handler, node: Node) -> Any:
    """Dimensions change places."""
    rank = len(shape_of(node.operand(0)))
    permutation = node.attribute("perm", list(range(rank))[::-1])
    extents = {permutation.index(dimension): count for dimension, count in node.extents(0).items()}
    return give_all(node, handler(node), extents)


def reshape(handler: Handler, node: Node) -> Any:
    """Reshape and its kin: a dimension stays, or takes dimensions behind it in; rows of these are in order then."""
    return reshaped(node, handler(node))


def reshaped(node: Node, result: Any) -> Any:
    """The same for a result that is made already."""
    shape, wanted = shape_of(node.operand(0)), shape_of(result)
    extents: dict[int, Count] = {}
    for dimension, count in node.extents(0).items():
        place = _place_of(shape, dimension, wanted, extents)
        if place is None:
            raise refusal(node, 0, dimension, f"and rows of {shape} and {wanted} begin at other elements")
        extents[place] = _times(count, wanted[place] // max(shape[dimension], 1))
    return give_all(node, result, extents)


def _place_of(shape: list[int], dimension: int, wanted: list[int], taken: Extents) -> int | None:
    """The dimension of the new shape that begins where one of the old shape does, and is a multiple of it."""
    before, extent = math.prod(shape[:dimension]), shape[dimension]
    for place, length in enumerate(wanted):
        is_there = math.prod(wanted[:place]) == before and length and length % extent == 0
        behind = math.prod(shape[dimension + 1 :]) == length // extent * math.prod(wanted[place + 1 :])
        if is_there and behind and place not in taken and (length > 1 or extent == 1):
            return place
    return None


def _times(count: Count, factor: int) -> Count:
    if factor == 1:
        return count
    return Count(graph.Mul.build(count.number, constant(factor, like=count.number)).result, count.most * factor)


def along_others(default: int) -> Rule:
    """Operators along the attribute `axis`, which leave the other dimensions as they are."""

    def rule(handler: Handler, node: Node) -> Any:
        refuse_others(node, 0)
        refuse_dimensions(node, 0, [axis_of(node, default)], "and the operator works along it")
        return give_all(node, handler(node), node.extents(0))

    return rule


def running(handler: Handler, node: Node) -> Any:
    """CumSum and CumProd: elements in front of the padding do not see it, unless the last ones come first."""
    refuse_others(node, 0)
    axis = node.axis(node.constant_ints(1, "axis")[0], len(shape_of(node.operand(0))))
    if node.attribute("reverse", 0):
        refuse_dimensions(node, 0, [axis], "and sums begin at its end")
    return give_all(node, handler(node), node.extents(0))


def of_matrix(default: int) -> Rule:
    """The same, where operators before operator set 13 work along all dimensions from the axis on."""

    def rule(handler: Handler, node: Node) -> Any:
        axis, rank = axis_of(node, default if node.version >= 13 else 1), len(shape_of(node.operand(0)))
        along = [axis] if node.version >= 13 else range(axis, rank)
        refuse_dimensions(node, 0, along, "and the operator works along it")
        return give_all(node, handler(node), node.extents(0))

    return rule


def normalization(handler: Handler, node: Node) -> Any:
    """Operators along all dimensions from the attribute `axis` on; each result has as many dimensions."""
    refuse_others(node, 0)
    rank = len(shape_of(node.operand(0)))
    refuse_dimensions(node, 0, range(axis_of(node, -1), rank), "and the operator works along it")
    return give_all(node, handler(node), node.extents(0))


def concat(handler: Handler, node: Node) -> Any:
    """Concat: along other dimensions all operands are equally long; along its own only the last one may end early."""
    axis = axis_of(node, 0)
    last = len(node.given) - 1
    found: dict[int, Count] = {}
    for index, extents in enumerate(node.given):
        for dimension, count in extents.items():
            if dimension == axis and index != last:
                raise refusal(node, index, dimension, "and something follows its padding")
            others = [own.get(dimension) for own in node.given]
            if dimension != axis and any(own is None or own.number != count.number for own in others):
                raise refusal(node, index, dimension, "and another input has another extent there")
            found[dimension] = count
    if axis in node.extents(last):
        count = found[axis]
        before = sum(shape_of(node.operand(i))[axis] for i in range(last))
        number = graph.Add.build(count.number, constant(np.asarray(before), like=count.number)).result
        found[axis] = Count(number, count.most + before)
    return give_all(node, handler(node), found)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("Flatten", "Squeeze", "Unsqueeze"), reshape),
    **dict.fromkeys(("ArgMax", "ArgMin", "Split"), along_others(0)),
    **dict.fromkeys(("LpNormalization", "TopK"), along_others(-1)),
    **dict.fromkeys(("CumProd", "CumSum"), running),
    **dict.fromkeys(("Hardmax", "LogSoftmax", "Softmax"), of_matrix(-1)),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), normalization),
    "Concat": concat,
    "Transpose": transpose,
}
