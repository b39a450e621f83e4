"""Operators that find elements by their order or their place along a dimension."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, element_type_of, reshape, shape_of


def along(values: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """A vector as a tensor of `rank` dimensions that varies along `axis`."""
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def hardmax(node: Node) -> Any:
    """Hardmax: 1 at the first largest element along the axis, 0 elsewhere.

    Before version 13 the axis and all dimensions behind it count as one.
    """
    x = node.operand(0)
    shape = shape_of(x)
    axis = node.axis(node.attribute("axis", -1 if node.version >= 13 else 1), len(shape))
    if node.version < 13:
        x = reshape(x, [int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))])
        axis = 1
    first = graph.ArgReduce.build(x, kind="max", axis=axis, keepdims=True, select_last=False).result
    places = constant(along(np.arange(shape_of(x)[axis]), axis, len(shape_of(x))), like=first)
    hit = graph.Equal.build(first, places).result
    one, zero = constant(1, like=x), constant(0, like=x)
    return reshape(graph.Where.build(hit, one, zero).result, shape)


def cum_prod(node: Node) -> Any:
    """CumProd along a constant axis: the product over all elements up to the own one."""
    x = node.operand(0)
    shape = shape_of(x)
    rank = len(shape)
    axis = node.axis(node.constant_ints(1, "axis")[0], rank)
    extent = shape[axis]
    keep = np.tri(extent, extent, -1 if node.attribute("exclusive", 0) else 0, dtype=bool)
    if node.attribute("reverse", 0):
        keep = keep[::-1, ::-1]
    mask = keep.reshape([1] * axis + [extent, extent] + [1] * (rank - axis - 1))
    spread = reshape(x, [*shape[:axis], 1, *shape[axis:]])
    factors = graph.Where.build(constant(mask), spread, constant(1, like=x)).result
    return graph.Reduce.build(factors, kind="prod", axes=[axis + 1], keepdims=False).result


def is_infinite(node: Node) -> Any:
    """IsInf, of either sign or both."""
    x = node.operand(0)
    positive, negative = node.attribute("detect_positive", 1), node.attribute("detect_negative", 1)
    largest = constant(np.inf, like=x)
    if positive and negative:
        return graph.Equal.build(graph.Abs.build(x).result, largest).result
    if not positive and not negative:
        return constant(np.zeros(shape_of(x), bool))
    return graph.Equal.build(x if positive else graph.Neg.build(x).result, largest).result


def eye_like(node: Node) -> Any:
    """EyeLike: ones on a diagonal; the input gives the shape."""
    x = node.operand(0)
    rows, columns = shape_of(x)
    kind = node.attribute("dtype")
    element = element_type_of(x) if kind is None else node.element_type(kind)
    values = np.eye(rows, columns, node.attribute("k", 0), dtype=graph.numpy_dtype(element))
    return graph.Constant.build(value=values).result
