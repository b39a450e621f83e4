"""TopK: the rank of an element is the number of elements in front of it.

Ranks take a comparison for every pair of elements. So a long axis is cut into groups, and only their first elements are
ranked. As many groups as elements are asked for hold all that come into question. They are brought together, cut into
smaller groups, and so on. Pairs that local memory does not hold at once are compared part by part. Ranks and indices
are counted in single precision, which is exact up to 2**24: sums of floats are combined across processing elements,
sums of integers are not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.ranking import along
from mnc.lowering.onnx_to_graph.ops.ranking_effort import check_effort, group_size, pairs_at_once
from mnc.lowering.onnx_to_graph.ops.selection import batch_gather


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
    """Values along an axis, and the index of each in the operand, which other dimensions may share. `ascending`:
    whether the indices are in their order."""

    values: Any
    numbers: Any
    axis: int
    largest: bool
    ascending: bool = True

    @property
    def extent(self) -> int:
        return shape_of(self.values)[self.axis]

    @property
    def lines(self) -> int:
        """How many times as many elements there are."""
        return math.prod(n for i, n in enumerate(shape_of(self.values)) if i != self.axis)


def _first(x: _Ordered, count: int) -> _Ordered:
    """The first `count` elements in their order."""
    if group_size(x.extent, count, x.lines) == 1:
        return _ranked(x, count)
    shape, rank = shape_of(x.values), len(shape_of(x.values))
    order = [*(i for i in range(rank) if i != x.axis), x.axis]
    lead = [x.lines] if x.lines > 1 else []
    values = reshape(_transposed(x.values, order), [*lead, x.extent])
    numbers = reshape(x.numbers, [*(1 for _ in lead), x.extent])
    found = _first_of_last(_Ordered(values, numbers, len(lead), x.largest), count)

    def restored(value: Any) -> Any:
        split = reshape(value, [*(shape[i] for i in order[:-1]), count])
        return _transposed(split, [order.index(i) for i in range(rank)])

    return _Ordered(restored(found.values), restored(found.numbers), x.axis, x.largest)


def _transposed(value: Any, order: Sequence[int]) -> Any:
    is_same = list(order) == sorted(order)
    return value if is_same else graph.Transpose.build(value, permutation=list(order)).result


def _first_of_last(x: _Ordered, count: int) -> _Ordered:
    """The first elements along the last dimension; at most one is in front of it."""
    while (size := group_size(x.extent, count, x.lines)) > 1:
        x = _of_first_groups(x, size, count)
    return _ranked(x, count)


def _of_first_groups(x: _Ordered, size: int, count: int) -> _Ordered:
    """The elements of the `count` groups of `size` whose own first elements come first. All others come later than the
    first elements of these groups, and so later than `count` elements."""
    axis, kind = x.axis, "max" if x.largest else "min"
    values = _cut(x.values, size, _last(element_type_of(x.values), x.largest))
    groups = shape_of(values)[axis]
    best = graph.Reduce.build(values, kind=kind, axes=[axis + 1], keepdims=False).result
    own = constant(along(np.arange(groups, dtype=np.float32), axis, axis + 1))
    table = None if x.ascending else _cut(x.numbers, size, 0)
    number = own if table is None else _least_number(values, best, table)
    chosen = _taken(_places(_Ordered(best, number, axis, x.largest)), own, axis, count)
    indices = cast(chosen, ir.IntegerType.get_signless(64))
    if table is None:
        begin = graph.Mul.build(chosen, constant(size, like=chosen)).result
        within = constant(along(np.arange(size, dtype=np.float32), axis + 1, axis + 2))
        numbers = graph.Add.build(reshape(begin, [*shape_of(begin), 1]), within).result
    else:
        numbers = batch_gather(table, indices, axis, axis)
    joined = [*shape_of(x.values)[:axis], count * size]
    values, numbers = reshape(batch_gather(values, indices, axis, axis), joined), reshape(numbers, joined)
    return _Ordered(values, numbers, axis, x.largest, ascending=False)


def _cut(value: Any, size: int, filler: float) -> Any:
    """Groups of `size` along the last dimension. What fills the last one up comes last there, so it is in nobody's way:
    no index is larger, and at least as many elements as are asked for come before it."""
    *lead, extent = shape_of(value)
    groups = -(-extent // size)
    if groups * size > extent:
        high = [*(0 for _ in lead), groups * size - extent]
        last = graph.double(filler)
        value = graph.Pad.build(value, low=[0] * len(high), high=high, value=last, mode="constant").result
    return reshape(value, [*lead, groups, size])


def _least_number(values: Any, best: Any, numbers: Any) -> Any:
    """The least index of those elements of each group that are equal to its `best`."""
    is_best = graph.Equal.build(values, reshape(best, [*shape_of(best), 1])).result
    held = graph.Where.build(is_best, numbers, constant(np.inf, like=numbers)).result
    return graph.Reduce.build(held, kind="min", axes=[len(shape_of(best))], keepdims=False).result


def _last(kind: Any, largest: bool) -> float:
    """The value that comes last."""
    if isinstance(kind, ir.FloatType):
        return -np.inf if largest else np.inf
    return _last_integer(kind, largest)


def _last_integer(kind: Any, largest: bool) -> float:
    """The integer that comes last; words of the machine have 32 bits."""
    is_unsigned = kind.is_unsigned or kind.width == 1
    if largest:
        return 0 if is_unsigned else -(2 ** (min(kind.width, 32) - 1))
    return 2 ** (min(kind.width, 32) - (0 if is_unsigned else 1)) - 1


def _ranked(x: _Ordered, count: int) -> _Ordered:
    """The first elements, of which every pair has been compared."""
    places = _places(x)
    values, numbers = (_taken(places, value, x.axis, count) for value in (x.values, x.numbers))
    return _Ordered(values, numbers, x.axis, x.largest)


def _places(x: _Ordered) -> Any:
    """How many elements come before each one."""
    part = max(pairs_at_once() // (x.lines * x.extent), 1)
    places = None
    for begin in range(0, x.extent, part):
        before = _before(x, begin, min(begin + part, x.extent))
        places = before if places is None else graph.Add.build(places, before).result
    return places


def _before(x: _Ordered, begin: int, end: int) -> Any:
    """How many elements from `begin` to `end` come before each one."""

    def others(value: Any) -> Any:
        shape = shape_of(value)
        if (begin, end) != (0, x.extent):
            starts, limits = [0] * len(shape), list(shape)
            starts[x.axis], limits[x.axis] = begin, end
            value = graph.Slice.build(value, starts=starts, limits=limits, steps=[1] * len(shape)).result
        return reshape(value, [*shape[: x.axis], 1, end - begin, *shape[x.axis + 1 :]])

    one, number = (
        reshape(value, [*shape_of(value)[: x.axis + 1], 1, *shape_of(value)[x.axis + 1 :]])
        for value in (x.values, x.numbers)
    )
    above, below = graph.Greater.build(others(x.values), one).result, graph.Less.build(others(x.values), one).result
    ahead, behind = (above, below) if x.largest else (below, above)
    # The machine masks writes by comparisons; to join truth values by "and" and "or" takes it more instructions.
    yes, no = constant(1.0, like=x.numbers), constant(0.0, like=x.numbers)
    before = graph.Where.build(graph.Less.build(others(x.numbers), number).result, yes, no).result
    before = graph.Where.build(behind, no, before).result
    before = graph.Where.build(ahead, yes, before).result
    return graph.Reduce.build(before, kind="sum", axes=[x.axis + 1], keepdims=False).result


def _taken(places: Any, values: Any, axis: int, count: int) -> Any:
    """The values at the places below `count`, in this order."""
    rank, part = len(shape_of(places)), max(pairs_at_once() // math.prod(shape_of(places)), 1)
    places, values = (reshape(v, [*shape_of(v)[:axis], 1, *shape_of(v)[axis:]]) for v in (places, values))
    found = []
    for begin in range(0, count, part):
        wanted = np.arange(begin, min(begin + part, count), dtype=np.float32)
        hit = graph.Equal.build(places, constant(along(wanted, axis, rank + 1))).result
        found.append(_selected(hit, values, axis + 1))
    return concat_tree(found, axis)


def _selected(hit: Any, values: Any, axis: int) -> Any:
    """The one value per slice that is hit."""
    kept = graph.Where.build(hit, values, constant(0, like=values)).result
    return graph.Reduce.build(kept, kind="sum", axes=[axis], keepdims=False).result
