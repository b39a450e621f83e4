"""TopK: the rank of an element is the number of elements in front of it.

Ranks take a comparison for every pair of elements. So a long axis is cut into groups: only the first elements of each
come into question, and they are ranked against each other. Ranks and indices are counted in single precision, which is
exact up to 2**24: sums of floats are combined across processing elements, sums of integers are not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.ranking import along

WORTH = 2
"""Factor by which groups must save comparisons: they take another pass."""
FEW = 20_000
"""Comparisons that take about as long as a second pass over any number of elements."""


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


def _group_size(extent: int, count: int) -> int:
    """Elements of a group with which the fewest pairs are compared; the extent where groups save little."""

    def pairs(size: int) -> int:
        remaining = -(-extent // size) * count
        return extent * (size + count) + remaining * (remaining + count)

    best = min(range(2 * count, extent), key=pairs, default=extent)
    alone = extent * (extent + count)
    return best if best < extent and alone > FEW and WORTH * pairs(best) < alone else extent


def _first(x: _Ordered, count: int) -> _Ordered:
    """The first `count` elements in their order."""
    size = _group_size(x.extent, count)
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
    shape, axis, extent = list(shape_of(x.values)), x.axis, x.extent
    rank = len(shape)
    one = reshape(x.values, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
    other = reshape(x.values, [*shape[:axis], 1, *shape[axis:]])
    ahead = (graph.Greater if x.largest else graph.Less).build(other, one).result
    places = np.arange(extent, dtype=np.float32)
    earlier = graph.Less.build(*(constant(along(places, axis + i, rank + 1)) for i in (1, 0))).result
    tie = graph.And.build(graph.Equal.build(other, one).result, earlier).result
    before = cast(graph.Or.build(ahead, tie).result, ir.F32Type.get())
    place = graph.Reduce.build(before, kind="sum", axes=[axis + 1], keepdims=False).result
    wanted = constant(along(np.arange(count, dtype=np.float32), axis, rank + 1))
    hit = graph.Equal.build(reshape(place, shape_of(other)), wanted).result
    own = list(shape_of(x.numbers))
    numbers = reshape(x.numbers, [*own[:axis], 1, *own[axis:]])
    return _Ordered(_selected(hit, other, axis + 1), _selected(hit, numbers, axis + 1), axis, x.largest)


def _selected(hit: Any, values: Any, axis: int) -> Any:
    """The one value per slice that is hit."""
    kept = graph.Where.build(hit, values, constant(0, like=values)).result
    return graph.Reduce.build(kept, kind="sum", axes=[axis], keepdims=False).result
