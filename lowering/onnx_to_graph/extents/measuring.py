"""Operators that look at all elements along a dimension: what padding holds must not change the result."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.extents.common import (
    Count,
    Handler,
    Rule,
    element_type_of,
    give_all,
    refuse_dimensions,
    refuse_others,
    without_padding,
)
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, shape_of
from mnc.lowering.onnx_to_graph.ops.shape import concat_tree


def shape(_: Handler, node: Node) -> Any:
    """Shape: a vector of which some elements are counts."""
    extents, own = node.extents(0), shape_of(node.operand(0))
    part = list(range(len(own)))[node.attribute("start", 0) : node.attribute("end", len(own))]
    if not any(dimension in extents for dimension in part):
        return constant(np.array([own[i] for i in part], np.int64))
    node.measured = tuple(extents.get(i, own[i]) for i in part)
    entries = [extents[i].integer([1]) if i in extents else constant(np.array([own[i]])) for i in part]
    return concat_tree(entries, 0)


def size(_: Handler, node: Node) -> Any:
    """Size: the product of the extents."""
    extents, own = node.extents(0), shape_of(node.operand(0))
    total = constant(np.array(math.prod(n for i, n in enumerate(own) if i not in extents), np.int64))
    for count in extents.values():
        total = graph.Mul.build(total, count.integer()).result
    return total


def reduction(filler: float | None, axes_input_since: int = 18) -> Rule:
    """Reductions, to which the padding counts as `filler`; None: as the smallest or largest number."""

    def rule(handler: Handler, node: Node) -> Any:
        refuse_others(node, 0)
        x, extents = node.operand(0), node.extents(0)
        axes = reduced_axes(node, len(shape_of(x)), axes_input_since)
        along = {i: count for i, count in extents.items() if i in axes}
        own = _limit(element_type_of(x), node.op_type == "ReduceMax") if filler is None else filler
        node.replace(0, without_padding(x, along, own))
        return give_all(node, handler(node), _kept(node, extents, axes))

    return rule


def mean(handler: Handler, node: Node) -> Any:
    """ReduceMean: the sum, by as many elements as count."""
    refuse_others(node, 0)
    x, extents = node.operand(0), node.extents(0)
    axes = reduced_axes(node, len(shape_of(x)), 18)
    along = {i: count for i, count in extents.items() if i in axes}
    if not along:
        return give_all(node, handler(node), _kept(node, extents, axes))
    x, keeps = without_padding(x, along, 0), bool(node.attribute("keepdims", 1))
    total = graph.Reduce.build(x, kind="sum", axes=axes, keepdims=keeps).result
    number = constant(np.array(math.prod(shape_of(x)[i] for i in axes if i not in along), np.float32))
    for count in along.values():
        number = graph.Mul.build(number, count.number).result
    return give_all(node, graph.Div.build(total, cast(number, element_type_of(x))).result, _kept(node, extents, axes))


def reduced_axes(node: Node, rank: int, axes_input_since: int) -> list[int]:
    """The axes of a reduction, not negative."""
    given = node.attribute("axes", []) if node.version < axes_input_since else \
        node.constant_ints(1, "axes") if node.has(1) else []  # fmt: skip
    if not given:
        return [] if node.attribute("noop_with_empty_axes", 0) else list(range(rank))
    return node.axes(given, rank)


def _kept(node: Node, extents: Any, axes: list[int]) -> dict[int, Count]:
    """Extents of the result of a reduction."""
    keeps = bool(node.attribute("keepdims", 1))
    return {i if keeps else i - sum(axis < i for axis in axes): count for i, count in extents.items() if i not in axes}


def _limit(kind: Any, largest: bool) -> float:
    """What every number is at least, for the largest, or at most."""
    if isinstance(kind, ir.FloatType):
        return -np.inf if largest else np.inf
    bits, unsigned = min(kind.width, 32), kind.is_unsigned or kind.width == 1
    if largest:
        return 0 if unsigned else -(2 ** (bits - 1))
    return 2 ** (bits - (0 if unsigned else 1)) - 1


def other_axes(handler: Handler, node: Node) -> Any:
    """Reductions for which nothing is neutral: along other dimensions."""
    refuse_others(node, 0)
    axes = reduced_axes(node, len(shape_of(node.operand(0))), 18)
    refuse_dimensions(node, 0, axes, "and the operator works along it")
    return give_all(node, handler(node), _kept(node, node.extents(0), axes))


RULES: dict[str, Rule] = {
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare"), reduction(0)),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), reduction(None)),
    "ReduceLogSumExp": other_axes,
    "ReduceMean": mean,
    "ReduceProd": reduction(1),
    "ReduceSum": reduction(0, 13),
    "Shape": shape,
    "Size": size,
}
