"""Operators that pick the elements at which a condition holds; how many, a run finds."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.extents.common import refuse_dimensions, without_padding
from mnc.lowering.onnx_to_graph.node import Node, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.compaction import first_places


def non_zero(node: Node) -> Any:
    """NonZero: a row of indices for every dimension, in row-major order of the elements."""
    x = node.operand(0)
    shape = shape_of(x)
    size = math.prod(shape)
    if size == 0:
        return constant(np.zeros((len(shape), 0), np.int64))
    mask = without_padding(_truth(x), node.extents(0), 0)
    places, count = first_places(reshape(mask, [size]), size, node)
    rows = [_digit(places, shape, i) for i in range(len(shape))]
    indices = concat_tree([reshape(row, [1, size]) for row in rows], 0)
    node.found[0] = {1: replace(count, picked=(mask, indices))}
    return indices


def _truth(x: Any) -> Any:
    """Where elements are not zero."""
    if element_type_of(x) == ir.IntegerType.get_signless(1):
        return x
    return graph.Not.build(graph.Equal.build(x, constant(0, like=x)).result).result


def _digit(places: Any, shape: list[int], dimension: int) -> Any:
    """The index along a dimension of elements with these row-major numbers."""
    behind = math.prod(shape[dimension + 1 :])
    index = graph.Div.build(places, constant(behind, like=places)).result if behind > 1 else places
    if dimension == 0:
        return index
    turns = graph.Div.build(index, constant(shape[dimension], like=places)).result
    return graph.Sub.build(index, graph.Mul.build(turns, constant(shape[dimension], like=places)).result).result


def compress(node: Node) -> Any:
    """Compress: the elements, or slices along an axis, where a condition holds."""
    x, axis = node.operand(0), node.attribute("axis")
    extents = node.extents(0)
    if axis is None:
        refuse_dimensions(node, 0, extents, "and Compress without an axis takes its elements in a row")
        x, axis = reshape(x, [math.prod(shape_of(x))]), 0
    axis = node.axis(axis, len(shape_of(x)))
    known = node.known(1)
    if known is not None:
        refuse_dimensions(node, 0, [axis], "and the condition is known, so that it may be shorter")
        node.found[0] = extents
        places = constant(np.flatnonzero(known).astype(np.int64))
        return graph.Gather.build(x, places, axis=axis).result
    most = min(shape_of(node.operand(1))[0], shape_of(x)[axis])
    if most == 0:
        return _nothing(x, axis)
    mask = without_padding(node.operand(1), node.extents(1), 0)
    mask = graph.Slice.build(mask, starts=[0], limits=[most], steps=[1]).result
    if axis in extents:
        own = graph.Slice.build(extents[axis].valid(), starts=[0], limits=[most], steps=[1]).result
        mask = graph.And.build(mask, own).result
    places, count = first_places(mask, most, node)
    node.found[0] = {**extents, axis: count}
    return graph.Gather.build(x, places, axis=axis).result


def _nothing(x: Any, axis: int) -> Any:
    limits = [0 if i == axis else extent for i, extent in enumerate(shape_of(x))]
    return graph.Slice.build(x, starts=[0] * len(limits), limits=limits, steps=[1] * len(limits)).result
