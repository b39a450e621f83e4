"""What a scatter does at the places it writes to: every element of the result compares the places with its own.

The comparisons are as many as elements times updates. They are added up (or the largest is taken, ...) in pieces: a
piece must fit in local memory, and where elements are few, pieces side by side give all PEs work.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops import scatter_products
from mnc.lowering.onnx_to_graph.ops.scatter_products import Writes

_COMBINE = {"add": ("sum", graph.Add), "mul": ("prod", graph.Mul), "max": ("max", graph.Max), "min": ("min", graph.Min)}
_AT_ONCE = 1024
"""Updates that an element meets in one piece: each PE holds their places and their values."""
_SHORT = 128
"""Pieces side by side are not shorter: what each of them found must be combined."""
_EXACT = 16_777_216
"""Numbers below this are exact as single floats."""
_SPREAD = 4096
"""So many sums give every PE work."""


@dataclass(frozen=True)
class _Piece:
    """Updates of which several groups are looked at side by side: two dimensions behind that of the elements."""

    hit: Any
    values: Any
    order: np.ndarray


def merge(reduction: str, writes: Writes) -> Any:
    """Combine the updates, if there are any, with what they hit. Without a reduction the last update wins."""
    if not writes.count:
        return writes.x
    truth = ir.IntegerType.get_signless(1)
    if element_type_of(writes.x) == truth:  # updates are chosen by sums, which truth values have none of
        x, values = (cast(value, ir.F32Type.get()) for value in (writes.x, writes.values))
        return cast(merge(reduction, replace(writes, x=x, values=values)), truth)
    if reduction == "none":
        return _last_wins(writes)
    if reduction == "add" and scatter_products.pays(writes):
        return graph.Add.build(writes.x, scatter_products.total(writes)).result
    kind, operation = _COMBINE[reduction]
    x, neutral = writes.x, {"sum": 0, "prod": 1}.get(kind)

    def kept(piece: _Piece) -> Any:
        if neutral is None:  # x itself where nothing hits: it takes part anyway
            other = reshape(x, _behind(shape_of(x), writes.axis, [1, 1]))
        else:
            other = constant(neutral, like=piece.values)
        return graph.Where.build(piece.hit, piece.values, other).result

    return operation.build(x, _over_updates(writes, shape_of(x), kind, kept)).result


def _last_wins(writes: Writes) -> Any:
    x, axis = writes.x, writes.axis
    few = _dropped(writes)
    few[axis] = shape_of(x)[axis]
    real = constant(np.zeros((), np.float32 if writes.count < _EXACT else np.int64))

    def numbers(piece: _Piece) -> Any:
        return graph.Where.build(piece.hit, constant(piece.order, like=real), real).result

    last = _over_updates(writes, few, "max", numbers)
    if writes.by_rows and shape_of(x)[1] > 1:
        value = _rows_of(writes, last)
    else:
        value = _chosen(writes, last)
    untouched = graph.Equal.build(last, constant(0, like=last)).result
    return graph.Where.build(untouched, x, value).result


def _rows_of(writes: Writes, last: Any) -> Any:
    """Rows with the numbers `last`, which begin with 1, by a lookup; any row for 0."""
    rows = reshape(writes.values, [writes.count, shape_of(writes.x)[1]])
    number = graph.Sub.build(graph.Max.build(last, constant(1, like=last)).result, constant(1, like=last)).result
    number = cast(reshape(number, [shape_of(writes.x)[0]]), ir.IntegerType.get_signless(64))
    return graph.Gather.build(rows, number, axis=0).result


def _chosen(writes: Writes, last: Any) -> Any:
    """The updates with the numbers `last`, each the only term of a sum that is not zero."""
    wanted = reshape(last, _behind(shape_of(last), writes.axis, [1, 1]))

    def chosen(piece: _Piece) -> Any:
        wins = graph.Equal.build(wanted, constant(piece.order, like=last)).result
        return graph.Where.build(wins, piece.values, constant(0, like=piece.values)).result

    return _over_updates(writes, shape_of(writes.x), "sum", chosen)


def _dropped(writes: Writes) -> list[int]:
    """Shape of the places without the dimension of the updates."""
    shape = shape_of(writes.places)
    return [*shape[: writes.axis + 1], *shape[writes.axis + 2 :]]


def _behind(shape: list[int], axis: int, extents: list[int]) -> list[int]:
    return [*shape[: axis + 1], *extents, *shape[axis + 1 :]]


def _over_updates(writes: Writes, shape: list[int], kind: str, term: Callable[[_Piece], Any]) -> Any:
    """Terms of all updates combined, of the given shape."""
    operation = next(build for name, build in _COMBINE.values() if name == kind)
    total = None
    for piece in _pieces(writes, math.prod(shape)):
        terms = term(piece)
        within = graph.Reduce.build(terms, kind=kind, axes=[writes.axis + 2], keepdims=False).result
        if shape_of(within)[writes.axis + 1] > 1:
            within = graph.Reduce.build(within, kind=kind, axes=[writes.axis + 1], keepdims=False).result
        within = reshape(within, shape)
        total = within if total is None else operation.build(total, within).result
    return total


def _pieces(writes: Writes, sums: int) -> list[_Piece]:
    """The updates in pieces one after the other, and in each groups side by side, for so many sums."""
    axis, count = writes.axis, writes.count
    groups = max(1, min(_SPREAD // max(sums, 1), count // _SHORT))
    steps = -(-count // (groups * _AT_ONCE))
    length = -(-count // (groups * steps))
    extent = shape_of(writes.x)[axis]
    rank = len(shape_of(writes.x)) + 2
    pieces = []
    for first in range(0, groups * length * steps, groups * length):
        places, values = (_piece(v, axis, first, groups, length) for v in (writes.places, writes.values))
        own = constant(_along(np.arange(extent), rank, axis), like=places)
        order = np.arange(first + 1, first + 1 + groups * length).reshape(groups, length)
        order = order.reshape([groups if i == axis + 1 else length if i == axis + 2 else 1 for i in range(rank)])
        pieces.append(_Piece(graph.Equal.build(own, places).result, values, order))
    return pieces


def _along(numbers: np.ndarray, rank: int, axis: int) -> np.ndarray:
    return numbers.reshape([-1 if i == axis else 1 for i in range(rank)])


def _piece(value: Any, axis: int, first: int, groups: int, length: int) -> Any:
    """Updates from `first` on as groups of equal length. Those beyond the end are at the place -1, where nothing is."""
    shape = shape_of(value)
    end = min(shape[axis + 1], first + groups * length)
    starts = [first if i == axis + 1 else 0 for i in range(len(shape))]
    limits = [end if i == axis + 1 else n for i, n in enumerate(shape)]
    if limits != shape or first:
        value = graph.Slice.build(value, starts=starts, limits=limits, steps=[1] * len(shape)).result
    missing = first + groups * length - end
    if missing:
        high = [missing if i == axis + 1 else 0 for i in range(len(shape))]
        value = graph.Pad.build(value, low=[0] * len(shape), high=high, value=-1.0, mode="constant").result
    return reshape(value, [*shape[: axis + 1], groups, length, *shape[axis + 2 :]])
