"""Operators that write at computed places: every element of the result compares the places with its own."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, broadcast_to, constant, reshape, shape_of

_COMBINE = {"add": ("sum", graph.Add), "mul": ("prod", graph.Mul), "max": ("max", graph.Max), "min": ("min", graph.Min)}


def _wrapped(indices: Any, extent: int) -> Any:
    """Indices that count from the end made positive."""
    negative = graph.Less.build(indices, constant(0, like=indices)).result
    return graph.Where.build(negative, graph.Add.build(indices, constant(extent, like=indices)).result, indices).result


def _last_that_hits(hit: Any, updates: Any, axis: int) -> tuple[Any, Any]:
    """The last update that hits along `axis`, or 0; and its number, counted from 1, or 0."""
    extent = shape_of(hit)[axis]
    numbers = np.arange(1, extent + 1).reshape([-1 if i == axis else 1 for i in range(len(shape_of(hit)))])
    order = constant(numbers.astype(np.int64))
    number = graph.Where.build(hit, order, constant(0, like=order)).result
    last = graph.Reduce.build(number, kind="max", axes=[axis], keepdims=True).result
    wins = graph.And.build(graph.Equal.build(order, last).result, hit).result
    chosen = graph.Where.build(wins, updates, constant(0, like=updates)).result
    return graph.Reduce.build(chosen, kind="sum", axes=[axis], keepdims=False).result, last


def _merge(node: Node, x: Any, hit: Any, updates: Any, axis: int) -> Any:
    """Combine the updates that hit along `axis` with x. Without a reduction the last update wins."""
    reduction = node.attribute("reduction", "none")
    if reduction == "none":
        value, last = _last_that_hits(hit, updates, axis)
        untouched = graph.Equal.build(last, constant(0, like=last)).result
        return graph.Where.build(reshape(untouched, shape_of(x)), x, value).result
    kind, operation = _COMBINE[reduction]
    neutral = {"sum": 0, "prod": 1}.get(kind)
    if neutral is not None:
        kept = graph.Where.build(hit, updates, constant(neutral, like=updates)).result
        return operation.build(x, graph.Reduce.build(kept, kind=kind, axes=[axis], keepdims=False).result).result
    own = reshape(x, [1 if i == axis else n for i, n in enumerate(_with(shape_of(x), axis, 1))])
    kept = graph.Where.build(hit, updates, own).result  # x itself where nothing hits: it takes part anyway
    return operation.build(x, graph.Reduce.build(kept, kind=kind, axes=[axis], keepdims=False).result).result


def _with(shape: list[int], position: int, extent: int) -> list[int]:
    return [*shape[:position], extent, *shape[position:]]


def _padded(value: Any, shape: list[int]) -> Any:
    high = [wanted - extent for wanted, extent in zip(shape, shape_of(value), strict=True)]
    if not any(high):
        return value
    return graph.Pad.build(value, low=[0] * len(shape), high=high, value=0.0, mode="constant").result


def scatter_elements(node: Node) -> Any:
    """ScatterElements: result[..., indices[..., j, ...], ...] takes updates[..., j, ...]."""
    x, indices, updates = (node.operand(i) for i in range(3))
    shape = shape_of(x)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    count = shape_of(indices)[axis]
    # Where the indices end before x does, no place is named: -1 hits nothing.
    places = graph.Add.build(_wrapped(indices, shape[axis]), constant(1, like=indices)).result
    wide = [count if i == axis else extent for i, extent in enumerate(shape)]
    places = reshape(_padded(places, wide), _with(wide, axis, 1))
    values = reshape(_padded(updates, wide), _with(wide, axis, 1))
    own = np.arange(1, shape[axis] + 1).reshape([-1 if i == axis else 1 for i in range(len(shape) + 1)])
    hit = graph.Equal.build(places, constant(own, like=places)).result
    return _merge(node, x, hit, values, axis + 1)


def _flat_places(indices: Any, shape: list[int]) -> Any:
    """Row-major numbers of the slices that the last dimension of `indices` names; a vector."""
    depth = shape_of(indices)[-1]
    count = int(np.prod(shape_of(indices)[:-1], dtype=np.int64))
    table = reshape(indices, [count, depth])
    total = None
    for i in range(depth):
        column = graph.Slice.build(table, starts=[0, i], limits=[count, i + 1], steps=[1, 1]).result
        weight = int(np.prod(shape[i + 1 : depth], dtype=np.int64))
        term = graph.Mul.build(_wrapped(column, shape[i]), constant(weight, like=column)).result
        total = term if total is None else graph.Add.build(total, term).result
    return reshape(total, [count])


def scatter_nd(node: Node) -> Any:
    """ScatterND: whole slices of x are written."""
    x, indices, updates = (node.operand(i) for i in range(3))
    shape, depth = shape_of(x), shape_of(indices)[-1]
    slices = int(np.prod(shape[:depth], dtype=np.int64))
    size = int(np.prod(shape[depth:], dtype=np.int64))
    places = _flat_places(indices, shape)
    count = shape_of(places)[0]
    own = constant(np.arange(slices).reshape(slices, 1, 1), like=places)
    hit = graph.Equal.build(own, reshape(places, [1, count, 1])).result
    hit = broadcast_to(hit, [slices, count, size])
    merged = _merge(node, reshape(x, [slices, size]), hit, reshape(updates, [1, count, size]), 1)
    return reshape(merged, shape)


def gather_nd(node: Node) -> Any:
    """GatherND without batch dimensions: rows of the flattened table."""
    x, indices = node.operand(0), node.operand(1)
    shape, depth = shape_of(x), shape_of(indices)[-1]
    if node.attribute("batch_dims", 0):
        return _gather_batches(node, x, indices)
    rows = reshape(x, [int(np.prod(shape[:depth], dtype=np.int64)), *shape[depth:]])
    taken = graph.Gather.build(rows, _flat_places(indices, shape), axis=0).result
    return reshape(taken, [*shape_of(indices)[:-1], *shape[depth:]])


def _gather_batches(node: Node, x: Any, indices: Any) -> Any:
    """With batch dimensions: the number of the batch is one more index."""
    batch = node.attribute("batch_dims", 0)
    shape, wanted = shape_of(x), shape_of(indices)
    outer = int(np.prod(shape[:batch], dtype=np.int64))
    inner = [outer, *wanted[batch:-1]]
    numbers = np.arange(outer).reshape([outer] + [1] * (len(inner)))
    number = broadcast_to(constant(numbers, like=indices), [*inner, 1])
    named = reshape(indices, [*inner, wanted[-1]])
    full = graph.Concat.build(number, named, axis=len(inner)).result
    flat = [outer, *shape[batch:]]
    depth = wanted[-1] + 1
    rows = reshape(x, [int(np.prod(flat[:depth], dtype=np.int64)), *flat[depth:]])
    taken = graph.Gather.build(rows, _flat_places(full, flat), axis=0).result
    return reshape(taken, [*wanted[:-1], *flat[depth:]])


def scattered(values: Any, places: Any, count: int) -> Any:
    """A vector of `count` elements: `values` at `places`, the last one where several have the same, and zeros."""
    own = constant(np.arange(count).reshape(count, 1), like=places)
    size = int(np.prod(shape_of(values), dtype=np.int64))
    hit = graph.Equal.build(own, reshape(places, [1, size])).result
    return _last_that_hits(hit, reshape(values, [1, size]), 1)[0]
