"""Operators that write or read at computed places."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.scatter_merging import merge
from mnc.lowering.onnx_to_graph.ops.scatter_products import Writes
from mnc.lowering.onnx_to_graph.ops.selection import batch_gather


def _wrapped(indices: Any, extent: int) -> Any:
    """Indices that count from the end made positive."""
    negative = graph.Less.build(indices, constant(0, like=indices)).result
    return graph.Where.build(negative, graph.Add.build(indices, constant(extent, like=indices)).result, indices).result


def _with(shape: list[int], position: int, extent: int) -> list[int]:
    return [*shape[:position], extent, *shape[position:]]


def _padded(value: Any, shape: list[int], filling: float) -> Any:
    high = [wanted - extent for wanted, extent in zip(shape, shape_of(value), strict=True)]
    if not any(high):
        return value
    return graph.Pad.build(value, low=[0] * len(shape), high=high, value=filling, mode="constant").result


def scatter_elements(node: Node) -> Any:
    """ScatterElements: result[..., indices[..., j, ...], ...] takes updates[..., j, ...]."""
    x, indices, updates = (node.operand(i) for i in range(3))
    shape, reduction = shape_of(x), node.attribute("reduction", "none")
    axis = node.axis(node.attribute("axis", 0), len(shape))
    count = shape_of(indices)[axis]
    wide = [count if i == axis else extent for i, extent in enumerate(shape)]
    numbers = _one_per_row(indices, axis) if shape_of(indices) == wide else None
    if numbers is not None and reduction in ("none", "add"):  # Rows are looked up, or come from products.
        return _scatter_rows(reduction, x, _wrapped(numbers, shape[axis]), updates, axis)
    # Where the indices end before x does, no place is named: -1 hits nothing.
    places = reshape(_padded(_wrapped(indices, shape[axis]), wide, -1.0), _with(wide, axis, 1))
    values = reshape(_padded(updates, wide, 0.0), _with(wide, axis, 1))
    return merge(reduction, Writes(x, places, values, axis))


def _one_per_row(indices: Any, axis: int) -> Any:
    """The vector of indices that a broadcast repeats along all other dimensions; None for other indices."""
    shape, rank = shape_of(indices), len(shape_of(indices))
    owner = indices.owner
    if not isinstance(owner, ir.Operation | ir.OpView) or owner.name != "graph.broadcast_to":
        return None
    own = [1] * (rank - len(shape_of(owner.operands[0]))) + shape_of(owner.operands[0])
    if own != [n if i == axis else 1 for i, n in enumerate(shape)] or math.prod(own) == math.prod(shape):
        return None
    return reshape(owner.operands[0], [shape[axis]])


def _scatter_rows(reduction: str, x: Any, places: Any, updates: Any, axis: int) -> Any:
    """Whole slices of x across `axis`, whose numbers a vector holds."""
    shape, rank = shape_of(x), len(shape_of(x))
    first = [axis, *(i for i in range(rank) if i != axis)]
    count, others = shape_of(places)[0], [shape[i] for i in first[1:]]
    if axis:
        x, updates = (graph.Transpose.build(value, permutation=first).result for value in (x, updates))
    width = math.prod(others)
    values = reshape(updates, [1, count, width])
    writes = Writes(reshape(x, [shape[axis], width]), reshape(places, [1, count, 1]), values, 0)
    merged = reshape(merge(reduction, writes), [shape[axis], *others])
    if not axis:
        return merged
    return graph.Transpose.build(merged, permutation=[first.index(i) for i in range(rank)]).result


def _places(indices: Any, shape: list[int]) -> Any:
    """Row-major numbers of the slices that the last dimension of `indices` names."""
    *outer, depth = shape_of(indices)
    total = None
    for i in range(depth):
        starts, limits = [*[0] * len(outer), i], [*outer, i + 1]
        column = graph.Slice.build(indices, starts=starts, limits=limits, steps=[1] * len(limits)).result
        weight = int(np.prod(shape[i + 1 : depth], dtype=np.int64))
        term = graph.Mul.build(_wrapped(column, shape[i]), constant(weight, like=column)).result
        total = term if total is None else graph.Add.build(total, term).result
    return reshape(total, outer)


def _rows(indices: Any, shape: list[int]) -> Any:
    """The same for reads, which count from the end by themselves."""
    outer = shape_of(indices)[:-1]
    return reshape(indices, outer) if shape_of(indices)[-1] == 1 else _places(indices, shape)


def scatter_nd(node: Node) -> Any:
    """ScatterND: whole slices of x are written."""
    x, indices, updates = (node.operand(i) for i in range(3))
    shape, depth = shape_of(x), shape_of(indices)[-1]
    slices = int(np.prod(shape[:depth], dtype=np.int64))
    size = int(np.prod(shape[depth:], dtype=np.int64))
    places = _places(indices, shape)
    count = math.prod(shape_of(places))
    values = reshape(updates, [1, count, size])
    writes = Writes(reshape(x, [slices, size]), reshape(places, [1, count, 1]), values, 0)
    merged = merge(node.attribute("reduction", "none"), writes)
    return reshape(merged, shape)


def gather_nd(node: Node) -> Any:
    """GatherND without batch dimensions: rows of the flattened table."""
    x, indices = node.operand(0), node.operand(1)
    shape, depth = shape_of(x), shape_of(indices)[-1]
    if node.attribute("batch_dims", 0):
        return _gather_batches(node, x, indices)
    rows = reshape(x, [int(np.prod(shape[:depth], dtype=np.int64)), *shape[depth:]])
    return graph.Gather.build(rows, _rows(indices, shape), axis=0).result


def _gather_batches(node: Node, x: Any, indices: Any) -> Any:
    """With batch dimensions: rows of a flattened table for each of them."""
    batch = node.attribute("batch_dims", 0)
    shape, wanted = shape_of(x), shape_of(indices)
    outer = int(np.prod(shape[:batch], dtype=np.int64))
    end = batch + wanted[-1]
    table = reshape(x, [outer, int(np.prod(shape[batch:end], dtype=np.int64)), *shape[end:]])
    named = reshape(indices, [outer, *wanted[batch:]])
    taken = batch_gather(table, _rows(named, shape[batch:]), 1, 1)
    return reshape(taken, [*wanted[:-1], *shape[end:]])


def scattered(values: Any, places: Any, count: int) -> Any:
    """A vector of `count` elements: `values` at `places`, the last one where several have the same, and zeros."""
    size = math.prod(shape_of(values))
    empty = constant(np.zeros((count, 1)), like=values)
    writes = Writes(empty, reshape(places, [1, size, 1]), reshape(values, [1, size, 1]), 0)
    return reshape(merge("none", writes), [count])
