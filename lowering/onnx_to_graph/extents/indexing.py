"""Operators that take elements by indices. Indices in padding may lie anywhere, so they are made 0 first."""

from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.extents.common import (
    Count,
    Handler,
    Rule,
    axis_of,
    element_type_of,
    give_all,
    refuse_dimensions,
    refuse_others,
    without_padding,
)
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, reshape, shape_of

_ALONG = "and elements are taken along it"


def _settle(node: Node, index: int) -> None:
    """Indices that lead to elements of the operand also where they are padding."""
    node.replace(index, without_padding(node.operand(index), node.extents(index), 0))


def _from_the_front(indices: Any, count: Count) -> Any:
    """Indices of which the negative ones count from where a run finds the end."""
    shape = shape_of(indices)
    length = cast(reshape(count.number, [1] * len(shape)), element_type_of(indices))
    negative = graph.Less.build(indices, constant(0, like=indices)).result
    return graph.Where.build(negative, graph.Add.build(indices, length).result, indices).result


def gather(handler: Handler, node: Node) -> Any:
    """Gather: the dimensions of the indices take the place of the axis."""
    axis, rank = axis_of(node, 0), len(shape_of(node.operand(1)))
    if axis in node.extents(0):
        node.replace(1, _from_the_front(node.operand(1), node.extents(0)[axis]))
    _settle(node, 1)
    found: dict[int, Count] = {axis + dimension: count for dimension, count in node.extents(1).items()}
    for dimension, count in node.extents(0).items():
        if dimension != axis:
            found[dimension if dimension < axis else dimension + rank - 1] = count
    return give_all(node, handler(node), found)


def gather_nd(handler: Handler, node: Node) -> Any:
    """GatherND: behind the dimensions of the indices, but for the last one, come those that no index names."""
    *outer, depth = shape_of(node.operand(1))
    batch = node.attribute("batch_dims", 0)
    refuse_dimensions(node, 0, range(batch + depth), _ALONG)
    refuse_dimensions(node, 1, [*range(batch), len(outer)], "and the operator looks at all of it")
    _settle(node, 1)
    found = dict(node.extents(1))
    for dimension, count in node.extents(0).items():
        found[dimension - batch - depth + len(outer)] = count
    return give_all(node, handler(node), found)


def gather_elements(handler: Handler, node: Node) -> Any:
    """GatherElements: the result is as large as the indices."""
    refuse_dimensions(node, 0, range(len(shape_of(node.operand(0)))), "which is not taken there")
    _settle(node, 1)
    return give_all(node, handler(node), node.extents(1))


def one_hot(handler: Handler, node: Node) -> Any:
    """OneHot: a new dimension among those of the indices."""
    refuse_others(node, 0)
    axis = node.axis(node.attribute("axis", -1), len(shape_of(node.operand(0))) + 1)
    found = {d if d < axis else d + 1: count for d, count in node.extents(0).items()}
    return give_all(node, handler(node), found)


def roi_align(handler: Handler, node: Node) -> Any:
    """RoiAlign: as many results as boxes, whose images are found by indices."""
    refuse_dimensions(node, 0, range(4), "which is not taken there")
    _settle(node, 1)
    boxes, images = node.extents(1), node.extents(2)
    refuse_dimensions(node, 1, [1], "which is not taken there")
    if 0 in images:
        _settle(node, 2)
    if boxes.get(0) is None or images.get(0) is None or boxes[0].number != images[0].number:
        refuse_dimensions(node, 1, [0], "and the indices of images have another extent")
        refuse_dimensions(node, 2, [0], "and the boxes have another extent")
    return give_all(node, handler(node), boxes)


RULES: dict[str, Rule] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "OneHot": one_hot,
    "RoiAlign": roi_align,
}
