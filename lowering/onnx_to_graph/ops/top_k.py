"""TopK: the rank of an element is the number of elements in front of it.

Ranks take a comparison for every pair of elements. So a long axis is cut into groups: only the first elements of each
come into question, and they are ranked against each other. Pairs that local memory does not hold at once are compared
part by part. Ranks and indices are counted in single precision, which is
exact up to 2**24: sums of floats are combined across processing elements, sums of integers are not.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.ranking import along
from mnc.lowering.onnx_to_graph.ops.ranking_effort import check_effort, group_size, pairs_at_once


def top_k(node: Node) -> list[Any]:
    """TopK: values and indices of the first elements along an axis; equal ones keep their order."""
    x = node.operand(0)
    axis = node.axis(node.attribute("axis", -1), len(shape_of(x)))
    count = node.constant_ints(1, "k")[0] if node.version >= 10 else node.attribute("k")
    largest = bool(node.attribute("largest", 1))
    if count == 0:
        nothing = _none_of(x, axis)
        return [nothing, cast(nothing, ir.IntegerType.get_signless(64))]
    if count == 1:
        return _extremum(x, axis, "max" if largest else "min")
    check_effort(node, shape_of(x), axis, count)
    numbers = constant(along(np.arange(shape_of(x)[axis], dtype=np.float32), axis, len(shape_of(x))))
    first = _first(_Ordered(x, numbers, axis, largest), count)
    return [first.values, cast(first.numbers, ir.IntegerType.get_signless(64))]


def _none_of(x: Any, axis: int) -> Any:
    shape = list(shape_of(x))
    limits = [0 if i == axis else extent for i, extent in enumerate(shape)]
    return graph.Slice.build(x, starts=[0] * len(shape), limits=limits, steps=[1] * len(shape)).result


def _extremum(x: Any, axis: int, kind: str) -> list[Any]:
    values = graph.Reduce.build(x, kind=kind, axes=[axis], keepdims=True).result
    return [values, graph.ArgReduce.build(x, kind=kind, axis=axis, keepdims=True, select_last=False).result]


@dataclass(frozen=True)
class _Ordered:
    """Values along an axis, and the index of each in the operand, which other dimensions may share."""

    values: Any
    numbers: Any
    axis: int
    largest: bool

    @property
    def extent(self) -> int:
        return shape_of(self.values)[self.axis]

    @property
    def lines(self) -> int:
        """How many times as many elements there are."""
        return math.prod(n for i, n in enumerate(shape_of(self.values)) if i != self.axis)


def _first(x: _Ordered, count: int) -> _Ordered:
    """The first `count` elements in their order."""
    size = group_size(x.extent, count, x.lines)
    return _ranked(x, count) if size == x.extent else _first(_of_groups(x, size, count), count)


def _of_groups(x: _Ordered, size: int, count: int) -> _Ordered:
    """The first elements of each group of `size`, group by group. What fills the last group up comes last there, so it
    is in nobody's way: at least `count` elements come before it."""
    groups, shape = -(-x.extent // size), list(shape_of(x.values))
    kind = element_type_of(x.values)
    last = (-np.inf if x.largest else np.inf) if isinstance(kind, ir.FloatType) else _last_integer(kind, x.largest)

    def cut(value: Any, filler: float) -> Any:
        own = list(shape_of(value))
        high = [groups * size - x.extent if i == x.axis else 0 for i in range(len(own))]
        last_value = graph.double(filler)
        padded = graph.Pad.build(value, low=[0] * len(own), high=high, value=last_value, mode="constant")
        return reshape(padded.result, [*own[: x.axis], groups, size, *own[x.axis + 1 :]])

    found = _ranked(_Ordered(cut(x.values, last), cut(x.numbers, 0), x.axis + 1, x.largest), count)
    joined = [*shape[: x.axis], groups * count, *shape[x.axis + 1 :]]
    return _Ordered(reshape(found.values, joined), reshape(found.numbers, joined), x.axis, x.largest)


def _last_integer(kind: Any, largest: bool) -> float:
    """The integer that comes last; words of the machine have 32 bits."""
    is_unsigned = kind.is_unsigned or kind.width == 1
    if largest:
        return 0 if is_unsigned else -(2 ** (min(kind.width, 32) - 1))
    return 2 ** (min(kind.width, 32) - (0 if is_unsigned else 1)) - 1


def _ranked(x: _Ordered, count: int) -> _Ordered:
    """The first elements, of which every pair has been compared."""
    shape, axis = list(shape_of(x.values)), x.axis
    part = max(pairs_at_once() // (x.lines * x.extent), 1)
    other, own = (reshape(v, [*shape_of(v)[:axis], 1, *shape_of(v)[axis:]]) for v in (x.values, x.numbers))
    place = None
    for begin in range(0, x.extent, part):
        before = _before(x, other, begin, min(begin + part, x.extent))
        place = before if place is None else graph.Add.build(place, before).result
    place = reshape(place, shape_of(other))
    values, numbers = [], []
    for begin in range(0, count, part):
        wanted = np.arange(begin, min(begin + part, count), dtype=np.float32)
        hit = graph.Equal.build(place, constant(along(wanted, axis, len(shape) + 1))).result
        values.append(_selected(hit, other, axis + 1))
        numbers.append(_selected(hit, own, axis + 1))
    return _Ordered(concat_tree(values, axis), concat_tree(numbers, axis), axis, x.largest)


def _before(x: _Ordered, other: Any, begin: int, end: int) -> Any:
    """How many elements from `begin` to `end` come before each one; `other` has them all, one dimension later."""
    axis, rank = x.axis, len(shape_of(other))
    one = reshape(x.values, [*shape_of(x.values)[: axis + 1], 1, *shape_of(x.values)[axis + 1 :]])
    if (begin, end) != (0, x.extent):
        starts, limits = [0] * rank, shape_of(other)
        starts[axis + 1], limits[axis + 1] = begin, end
        other = graph.Slice.build(other, starts=starts, limits=limits, steps=[1] * rank).result
    ahead = (graph.Greater if x.largest else graph.Less).build(other, one).result
    places = np.arange(x.extent, dtype=np.float32)
    earlier = graph.Less.build(
        constant(along(places[begin:end], axis + 1, rank)), constant(along(places, axis, rank))
    ).result
    tie = graph.And.build(graph.Equal.build(other, one).result, earlier).result
    before = cast(graph.Or.build(ahead, tie).result, ir.F32Type.get())
    return graph.Reduce.build(before, kind="sum", axes=[axis + 1], keepdims=False).result


def _selected(hit: Any, values: Any, axis: int) -> Any:
    """The one value per slice that is hit."""
    kept = graph.Where.build(hit, values, constant(0, like=values)).result
    return graph.Reduce.build(kept, kind="sum", axes=[axis], keepdims=False).result
