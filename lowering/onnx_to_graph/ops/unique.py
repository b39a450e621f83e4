"""Unique: every value, or slice along an axis, once; in ascending order, or in that of their first places.

Every slice is compared with every other. A slice is the first of its value if none before is equal, and its place among
the results is the number of such slices that are smaller, or that come before the first of its value.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.extents.common import refuse_dimensions
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.run_time_extents import Count
from mnc.lowering.onnx_to_graph.size_limits import LARGEST_CONSTANT


@dataclass(frozen=True)
class _Pairs:
    """Of every slice (first dimension) and every other: whether they are equal, and whether the other is smaller."""

    equal: Any
    smaller: Any


def unique(node: Node) -> Any:
    """The values, the first place of each, the number of its value for every slice, and how often each is there."""
    x, axis = node.operand(0), node.attribute("axis")
    if axis is None:
        refuse_dimensions(node, 0, node.extents(0), "and Unique without an axis takes its elements in a row")
        x, axis = reshape(x, [math.prod(shape_of(x))]), 0
    axis = node.axis(axis, len(shape_of(x)))
    refuse_dimensions(node, 0, (i for i in node.extents(0) if i != axis), "and slices of another length are compared")
    size = shape_of(x)[axis]
    if not math.prod(shape_of(x)):
        refuse_dimensions(node, 0, [axis], "and slices without elements are compared")
        if size:
            raise node.error("it compares slices without elements", hint="leave it out: all of them are equal")
        return [x, *[constant(np.zeros(0, np.int64))] * 3]
    pairs = size * math.prod(shape_of(x))
    if pairs > LARGEST_CONSTANT:
        message = f"it compares {size} slices with each other, which are {pairs} comparisons of elements"
        raise node.error(message, hint=f"at most {LARGEST_CONSTANT} are made: give it fewer elements")
    valid = node.extents(0)[axis].valid() if axis in node.extents(0) else None
    results, count = _once(x, axis, _compared(_slices(x, axis)), bool(node.attribute("sorted", 1)), valid)
    node.found |= {0: {axis: count}, 1: {0: count}, 3: {0: count}}
    if valid is not None:
        node.found[2] = {0: node.extents(0)[axis]}
    return results


def _slices(x: Any, axis: int) -> Any:
    """A row for every slice, its elements in row-major order. Truth values become numbers, which have an order."""
    shape = shape_of(x)
    if axis:
        x = graph.Transpose.build(x, permutation=[axis, *(i for i in range(len(shape)) if i != axis)]).result
    x = reshape(x, [shape[axis], math.prod(shape) // shape[axis]])
    return cast(x, ir.F32Type.get()) if element_type_of(x) == ir.IntegerType.get_signless(1) else x


def _compared(rows: Any) -> _Pairs:
    """All pairs of rows, in the order of their first elements that differ."""
    size, length = shape_of(rows)
    own, other = reshape(rows, [size, 1, length]), reshape(rows, [1, size, length])
    equal, smaller = graph.Equal.build(other, own).result, graph.Less.build(other, own).result
    if length == 1:
        return _Pairs(reshape(equal, [size, size]), reshape(smaller, [size, size]))
    differ = cast(graph.Not.build(equal).result, ir.F32Type.get())
    before = graph.CumSum.build(differ, axis=2, exclusive=True, reverse=False).result
    decides = graph.And.build(smaller, graph.Equal.build(before, constant(0, like=before)).result).result
    return _Pairs(graph.Not.build(_any(differ, 2)).result, _any(cast(decides, ir.F32Type.get()), 2))


def _any(numbers: Any, axis: int) -> Any:
    """Whether one of the numbers 0 and 1 along an axis is 1."""
    most = graph.Reduce.build(numbers, kind="max", axes=[axis], keepdims=False).result
    return graph.Greater.build(most, constant(0, like=most)).result


def _count(truth: Any, axis: int) -> Any:
    """How many along an axis are true."""
    return graph.Reduce.build(cast(truth, ir.F32Type.get()), kind="sum", axes=[axis], keepdims=False).result


def _once(x: Any, axis: int, pairs: _Pairs, is_sorted: bool, valid: Any) -> tuple[list[Any], Count]:
    """The four results, and how many values there are. Where `valid` is given, padding is equal to nothing."""
    size = shape_of(x)[axis]
    earlier = constant(np.tri(size, size, -1, dtype=bool))
    again = _any(cast(graph.And.build(pairs.equal, earlier).result, ir.F32Type.get()), 1)
    first = graph.Not.build(again).result
    if valid is not None:
        first = graph.And.build(first, valid).result
    ahead = pairs.smaller if is_sorted else _before(pairs.equal, size)
    place = _count(graph.And.build(ahead, reshape(first, [1, size])).result, 1)
    wanted = constant(np.arange(size, dtype=np.float32).reshape(size, 1))
    named = graph.Equal.build(wanted, reshape(place, [1, size])).result
    if valid is not None:
        named = graph.And.build(named, reshape(valid, [1, size])).result
    own = graph.And.build(named, reshape(first, [1, size])).result
    numbers = constant(np.arange(size, dtype=np.float32))
    origin = graph.Where.build(own, numbers, constant(0, like=numbers)).result
    origin = graph.Reduce.build(origin, kind="sum", axes=[1], keepdims=False).result
    i64 = ir.IntegerType.get_signless(64)
    indices, inverse, counts = (cast(value, i64) for value in (origin, place, _count(named, 1)))
    values = graph.Gather.build(x, indices, axis=axis).result
    return [values, indices, inverse, counts], Count(_count(first, 0), size)


def _before(equal: Any, size: int) -> Any:
    """Whether another slice comes before the first of those that are equal to this one."""
    numbers = constant(np.arange(size, dtype=np.float32).reshape(1, size))
    origin = graph.Where.build(equal, numbers, constant(size, like=numbers)).result
    origin = graph.Reduce.build(origin, kind="min", axes=[1], keepdims=True).result
    return graph.Less.build(numbers, origin).result
