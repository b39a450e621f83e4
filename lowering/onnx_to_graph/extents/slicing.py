"""Slices of dimensions whose extents a run finds, and slices whose bounds it finds."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.extents.common import Count, Extents, Handler, Rule, refusal, refuse_others
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, reshape, shape_of


def slice_(handler: Handler, node: Node) -> Any:
    """Slice: of a dimension whose extent a run finds, from a place on, up to another one."""
    refuse_others(node, 0)
    counts = [] if node.version < 10 else [entry for entry in node.lengths[2] or () if isinstance(entry, Count)]
    if counts:
        return _up_to(node, counts)
    x, old = node.operand(0), node.version < 10
    rank = len(shape_of(x))
    starts = node.attribute("starts") if old else node.constant_ints(1, "starts")
    ends = node.attribute("ends") if old else node.constant_ints(2, "ends")
    everything = list(range(len(starts)))
    axes = node.attribute("axes", everything) if old else node.constant_ints(3, "axes") if node.has(3) else everything
    steps = node.constant_ints(4, "steps") if not old and node.has(4) else [1] * len(starts)
    extents = dict(node.extents(0))
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        dimension = node.axis(axis, rank)
        if dimension in extents:
            if step != 1 or start < 0 or end < 0:
                raise refusal(node, 0, dimension, "and the slice counts from its end, or in other steps than 1")
            extents[dimension] = _between(extents[dimension], start, end)
    result = handler(node)
    node.found[0] = extents
    return result


def _between(count: Count, start: int, end: int) -> Count:
    """How many of the places from `start` on and before `end` count."""
    if start == 0 and end >= count.most:
        return count
    number = count.number
    most = max(min(end, count.most) - start, 0)
    if start:
        number = graph.Sub.build(number, constant(start, like=number)).result
        number = graph.Max.build(number, constant(0, like=number)).result
    return Count(graph.Min.build(number, constant(most, like=number)).result, most)


def _up_to(node: Node, counts: list[Count]) -> Any:
    """The first elements, as many as there are of others."""
    x = node.operand(0)
    axis = _only_axis(node)
    if axis is None or node.constant_ints(1, "starts") != [0]:
        raise node.error("its end is a number that a run finds, and it does not begin with the first element",
                         hint="cut one dimension by a slice of its own, from 0 on")  # fmt: skip
    own, count = node.extents(0).get(axis), counts[0]
    extents: Extents = dict(node.extents(0))
    if own is None:
        most = constant(shape_of(x)[axis], like=count.number)
        extents = {**extents, axis: Count(graph.Min.build(count.number, most).result, shape_of(x)[axis])}
    elif own.number != count.number:
        least = graph.Min.build(own.number, count.number).result
        extents = {**extents, axis: Count(least, own.most)}
    node.found[0] = extents
    return x


def _only_axis(node: Node) -> int | None:
    """The one axis along which elements are taken in steps of 1; None for other slices."""
    axes, steps = (node.known(i) if node.has(i) else np.array([default]) for i, default in ((3, 0), (4, 1)))
    if axes is None or steps is None or axes.size != 1 or steps.reshape(-1).tolist() != [1]:
        return None
    return node.axis(int(axes.reshape(-1)[0]), len(shape_of(node.operand(0))))


def found_by_run(node: Node) -> Any | None:
    """Slice along one axis with bounds that a run finds: there is room for all elements. None where it is no such
    slice."""
    if node.version < 10 or all(node.known(i) is not None for i in (1, 2)):
        return None
    axis = _only_axis(node)
    x = node.operand(0)
    if axis is None or shape_of(node.operand(1)) != [1] or not (extent := shape_of(x)[axis]):
        return None
    start, end = (_bound(node, i, extent) for i in (1, 2))
    number = graph.Max.build(graph.Sub.build(end, start).result, constant(0, like=end)).result
    places = graph.Add.build(reshape(start, [1]), constant(np.arange(extent), like=start)).result
    places = graph.Min.build(places, constant(extent - 1, like=places)).result
    node.found[0] = {axis: Count(number, extent)}
    return graph.Gather.build(x, cast(places, ir.IntegerType.get_signless(64)), axis=axis).result


def _bound(node: Node, index: int, extent: int) -> Any:
    """A place from 0 to the extent, as a scalar in single precision."""
    known = node.known(index)
    if known is not None:
        place = int(known.reshape(-1)[0])
        return constant(np.array(min(max(place + extent * (place < 0), 0), extent), np.float32))
    place = reshape(node.operand(index), [])
    behind = graph.Add.build(place, constant(extent, like=place)).result
    place = graph.Where.build(graph.Less.build(place, constant(0, like=place)).result, behind, place).result
    place = graph.Max.build(place, constant(0, like=place)).result
    return cast(graph.Min.build(place, constant(extent, like=place)).result, ir.F32Type.get())


RULES: dict[str, Rule] = {"Slice": slice_}
