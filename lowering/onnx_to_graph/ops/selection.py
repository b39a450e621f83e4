"""Operators that take parts of a tensor, or put it into a larger one."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.extents.slicing import found_by_run
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of


def _clamp_range(start: int, limit: int, step: int, extent: int) -> tuple[int, int]:
    """Normalise one range as Python's slices do; an empty one becomes (start, start)."""
    start, limit, _ = slice(start, limit, step).indices(extent)
    if (step > 0 and limit < start) or (step < 0 and limit > start):
        limit = start
    if step < 0 and start < 0:
        # A range over nothing that begins before the first element.
        return 0, 0
    return start, limit


def slice_(node: Node) -> Any:
    """Slice: ranges are attributes before version 10, inputs since."""
    if (found := found_by_run(node)) is not None:
        return found
    x = node.operand(0)
    shape = shape_of(x)
    if node.version >= 10:
        starts, ends = node.constant_ints(1, "starts"), node.shape_ints(2, "ends")
        axes = node.constant_ints(3, "axes") if node.has(3) else list(range(len(starts)))
        given_steps = node.constant_ints(4, "steps") if node.has(4) else [1] * len(starts)
    else:
        starts, ends = node.attribute("starts"), node.attribute("ends")
        axes, given_steps = node.attribute("axes", list(range(len(starts)))), [1] * len(starts)
    low, high, steps = [0] * len(shape), list(shape), [1] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, given_steps, strict=True):
        i = node.axis(axis, len(shape))
        if step == 0:
            raise node.error("a step is 0")
        steps[i] = step
        # INT_MIN of a smaller type means "past the first element" too, as Python's None does.
        low[i], high[i] = _clamp_range(start, end, step, shape[i])
        if shape[i] == 0:
            low[i], high[i], steps[i] = 0, 0, 1
    if low == [0] * len(shape) and high == shape and steps == [1] * len(shape):
        return x
    return graph.Slice.build(x, starts=low, limits=high, steps=steps).result


def split(node: Node) -> Any:
    """Split into slices; sizes are an attribute before version 13, an input since."""
    x = node.operand(0)
    shape = shape_of(x)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    count = len(node.proto.output)
    if node.version >= 13:
        sizes = node.constant_ints(1, "split") if node.has(1) else None
    else:
        sizes = node.attribute("split")
    if sizes is None:
        size = -(-shape[axis] // count)
        sizes = [max(min(size, shape[axis] - i * size), 0) for i in range(count)]
    if sum(sizes) != shape[axis] or len(sizes) != count:
        raise node.error(f"sizes {sizes} do not split extent {shape[axis]} into {count} parts")
    out, position = [], 0
    for size in sizes:
        starts, limits = [0] * len(shape), list(shape)
        starts[axis], limits[axis] = position, position + size
        out.append(graph.Slice.build(x, starts=starts, limits=limits, steps=[1] * len(shape)).result)
        position += size
    return out


def gather(node: Node) -> Any:
    """Gather along one axis."""
    x = node.operand(0)
    axis = node.axis(node.attribute("axis", 0), len(shape_of(x)))
    return graph.Gather.build(x, node.operand(1), axis=axis).result


def batch_gather(x: Any, indices: Any, axis: int, batch: int) -> Any:
    """What `indices` take along one axis of x, where the first `batch` dimensions of both are the same; those of the
    indices behind them take the place of the axis."""
    shape, wanted = shape_of(x), shape_of(indices)
    if math.prod(shape[:batch]) != 1:
        return graph.BatchGather.build(x, indices, axis=axis, batch_dims=batch).result
    taken = graph.Gather.build(reshape(x, shape[batch:]), reshape(indices, wanted[batch:]), axis=axis - batch).result
    return reshape(taken, [*shape[:axis], *wanted[batch:], *shape[axis + 1 :]])


def gather_elements(node: Node) -> Any:
    """GatherElements: every line along the axis is a table with indices of its own. From an input, elements that are
    known now come by themselves."""
    given, indices = node.operand(0), node.operand(1)
    known = node.known(1)
    if known is not None and isinstance(given.owner, ir.Block) and known.size < np.prod(shape_of(given)):
        return _known_elements(node, given, known)
    shape, wanted = shape_of(given), shape_of(indices)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    limits = [extent if i == axis else wanted[i] for i, extent in enumerate(shape)]
    x = given
    if limits != shape:
        x = graph.Slice.build(x, starts=[0] * len(shape), limits=limits, steps=[1] * len(shape)).result
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    lines = math.prod(wanted[i] for i in order[:-1])
    table = reshape(_transposed(x, order), [lines, shape[axis]])
    places = reshape(_transposed(indices, order), [lines, wanted[axis]])
    taken = reshape(batch_gather(table, places, 1, 1), [wanted[i] for i in order])
    return _transposed(taken, [order.index(i) for i in range(len(order))])


def _transposed(x: Any, order: list[int]) -> Any:
    return x if order == list(range(len(order))) else graph.Transpose.build(x, permutation=order).result


def _known_elements(node: Node, x: Any, indices: np.ndarray) -> Any:
    shape = shape_of(x)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    places = [np.asarray(own) for own in np.indices(indices.shape, np.int64)]
    places[axis] = np.where(indices < 0, indices + shape[axis], indices)
    numbers = np.ravel_multi_index(tuple(places), shape)
    return graph.Gather.build(reshape(x, [int(np.prod(shape))]), constant(np.asarray(numbers)), axis=0).result


def pad(node: Node) -> Any:
    """Pad; a negative padding cuts."""
    x = node.operand(0)
    shape = shape_of(x)
    if node.version >= 11:
        pads = node.constant_ints(1, "pads")
        axes = node.constant_ints(3, "axes") if node.has(3) else list(range(len(shape)))
    else:
        pads, axes = node.attribute("pads"), list(range(len(shape)))
    low, high = [0] * len(shape), [0] * len(shape)
    for i, axis in enumerate(axes):
        low[node.axis(axis, len(shape))] = pads[i]
        high[node.axis(axis, len(shape))] = pads[len(axes) + i]
    if min((*low, *high), default=0) < 0:
        starts = [max(-before, 0) for before in low]
        limits = [extent - max(-after, 0) for extent, after in zip(shape, high, strict=True)]
        x = graph.Slice.build(x, starts=starts, limits=limits, steps=[1] * len(shape)).result
        low, high = ([max(amount, 0) for amount in amounts] for amounts in (low, high))
    mode = node.attribute("mode", "constant")
    value = _padding(node) if mode == "constant" else 0.0
    padded = graph.Pad.build(x, low=low, high=high, value=value or 0.0, mode=mode).result
    return padded if value is not None else _filled(padded, low, shape_of(x), node.operand(2))


def _padding(node: Node) -> Any | None:
    """The number that is padded with; None if it comes with a run."""
    if node.version < 11:
        return float(node.attribute("value", 0.0))
    if not node.has(2):
        return 0.0
    known = node.known(2)
    return None if known is None else graph.double(float(known.reshape(())))


def _filled(padded: Any, low: list[int], inner: list[int], value: Any) -> Any:
    """A padded tensor with `value`, of one element, outside of what was padded."""
    inside = np.zeros(shape_of(padded), bool)
    inside[tuple(slice(start, start + extent) for start, extent in zip(low, inner, strict=True))] = True
    return graph.Where.build(constant(inside), padded, reshape(value, [])).result


def one_hot(node: Node) -> Any:
    """OneHot: compare the indices with 0 .. depth - 1 along a new axis and select."""
    indices, values = node.operand(0), node.operand(2)
    depth = node.constant_ints(1, "depth")[0]
    shape = shape_of(indices)
    axis = node.axis(node.attribute("axis", -1), len(shape) + 1)
    column = reshape(indices, [*shape[:axis], 1, *shape[axis:]])
    zero, extent = constant(0, like=column), constant(depth, like=column)
    wrapped = graph.Where.build(graph.Less.build(column, zero).result, graph.Add.build(column, extent).result, column)
    classes = np.arange(depth).reshape([depth if i == axis else 1 for i in range(len(shape) + 1)])
    hit = graph.Equal.build(wrapped.result, constant(classes, like=column)).result
    off, on = (reshape(graph.Slice.build(values, starts=[i], limits=[i + 1], steps=[1]).result, []) for i in range(2))
    return graph.Where.build(hit, on, off).result


def trilu(node: Node) -> Any:
    """Trilu: keep one triangle of the last two dimensions."""
    x = node.operand(0)
    shape = shape_of(x)
    # How far a column is to the right of the diagonal; a run may find which diagonal counts.
    distance = constant(np.arange(shape[-1])[None] - np.arange(shape[-2])[:, None])
    k = reshape(node.operand(1), []) if node.has(1) else constant(0, like=distance)
    compared = graph.GreaterOrEqual if node.attribute("upper", 1) else graph.LessOrEqual
    mask = compared.build(distance, k).result
    return graph.Where.build(mask, x, constant(np.zeros(()), like=x)).result


def range_(node: Node) -> Any:
    """Range with bounds known at compile time: start + i * delta, in the type of these."""
    start, limit, delta = (node.constant(i, name) for i, name in enumerate(("start", "limit", "delta")))
    count = len(np.arange(start.item(), limit.item(), delta.item()))
    values = (start.reshape(()) + np.arange(count).astype(start.dtype) * delta.reshape(())).astype(start.dtype)
    return graph.Constant.build(value=values).result


def shape_of_operand(node: Node) -> Any:
    """Shape, from start to end."""
    shape = shape_of(node.operand(0))
    part = shape[node.attribute("start", 0) : node.attribute("end", len(shape))]
    return graph.Constant.build(value=np.asarray(part, np.int64)).result


def size_of_operand(node: Node) -> Any:
    """Size: the number of elements."""
    return graph.Constant.build(value=np.asarray(np.prod(shape_of(node.operand(0))), np.int64)).result


def center_crop_pad(node: Node) -> Any:
    """CenterCropPad: cut or pad the dimensions of `axes` around the centre."""
    x = node.operand(0)
    shape = shape_of(x)
    wanted = node.constant_ints(1, "shape")
    axes = node.attribute("axes", list(range(len(shape))))
    starts, limits, low, high = [0] * len(shape), list(shape), [0] * len(shape), [0] * len(shape)
    for axis, extent in zip((node.axis(a, len(shape)) for a in axes), wanted, strict=True):
        surplus = shape[axis] - extent
        if surplus > 0:
            starts[axis] = surplus // 2
            limits[axis] = starts[axis] + extent
        else:
            low[axis] = -surplus // 2
            high[axis] = -surplus - low[axis]
    x = graph.Slice.build(x, starts=starts, limits=limits, steps=[1] * len(shape)).result
    return graph.Pad.build(x, low=low, high=high, value=0.0, mode="constant").result


def reverse_sequence(node: Node) -> Any:
    """ReverseSequence: every sequence is turned around up to its length."""
    x = node.operand(0)
    shape = shape_of(x)
    batch, time = node.attribute("batch_axis", 1), node.attribute("time_axis", 0)
    lengths = reshape(node.operand(1), [shape[batch], 1])
    step = constant(np.arange(shape[time])[None])
    turned_step = graph.Sub.build(graph.Sub.build(lengths, constant(1, like=lengths)).result, step).result
    place = graph.Where.build(graph.Less.build(step, lengths).result, turned_step, step).result
    order = [batch, time, *(i for i in range(len(shape)) if i not in (batch, time))]
    turned = graph.Transpose.build(x, permutation=order).result
    rows = reshape(turned, [shape[batch] * shape[time], *(shape[i] for i in order[2:])])
    flat = graph.Add.build(place, constant(shape[time] * np.arange(shape[batch])[:, None])).result
    taken = graph.Gather.build(rows, reshape(flat, [shape[batch] * shape[time]]), axis=0).result
    taken = reshape(taken, [shape[i] for i in order])
    return graph.Transpose.build(taken, permutation=[order.index(i) for i in range(len(order))]).result
