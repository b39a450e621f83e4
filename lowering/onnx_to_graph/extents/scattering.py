"""Operators that write at computed places. Places in padding are made such that nothing is there."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.extents.common import (
    Handler,
    Rule,
    axis_of,
    refuse_dimensions,
    refuse_others,
    without_padding,
)
from mnc.lowering.onnx_to_graph.node import Node, reshape, shape_of


def scatter_nd(handler: Handler, node: Node) -> Any:
    """ScatterND: as many slices are written as there are indices. That there are as many updates is the model's word:
    masks of which one repeats the elements of the other are counted each for itself."""
    depth = shape_of(node.operand(1))[-1]
    outer = len(shape_of(node.operand(1))) - 1
    refuse_dimensions(node, 1, [outer], "and the operator looks at all of it")
    refuse_dimensions(node, 2, range(outer, len(shape_of(node.operand(2)))), "which is not taken there")
    if (selected := _selection(node)) is not None:
        return selected
    nowhere = np.array([-1 - extent for extent in shape_of(node.operand(0))[:depth]])
    return _without_padding(handler, node, nowhere)


def _selection(node: Node) -> Any | None:
    """One number written wherever a mask holds; None for other updates and indices."""
    count = node.extents(1).get(0)
    x, number = node.operand(0), _repeated(node.operand(2))
    if count is None or count.picked is None or number is None or node.attribute("reduction", "none") != "none":
        return None
    mask, places = count.picked
    indices: Any = node.operand(1)
    if not _is_made_by(indices, "graph.transpose") or indices.owner.operands[0] != places or any(node.extents(0)):
        return None
    behind = len(shape_of(x)) - len(shape_of(mask))
    return graph.Where.build(reshape(mask, [*shape_of(mask), *[1] * behind]), reshape(number, []), x).result


def _repeated(value: Any) -> Any | None:
    """The one element of which all elements of a value are copies, as far as its operations say."""
    while math.prod(shape_of(value)) != 1:
        if not _is_made_by(value, "graph.broadcast_to", "graph.reshape"):
            return None
        value = value.owner.operands[0]
    return value


def _is_made_by(value: Any, *operations: str) -> bool:
    return isinstance(value.owner, ir.Operation | ir.OpView) and value.owner.name in operations


def scatter_elements(handler: Handler, node: Node) -> Any:
    """ScatterElements: as many elements are written as there are indices."""
    return _without_padding(handler, node, -1 - shape_of(node.operand(0))[axis_of(node, 0)])


def _without_padding(handler: Handler, node: Node, nowhere: Any) -> Any:
    """The result, with `nowhere` for indices that are padding: counted from the end they are in front of the first."""
    refuse_others(node, 1, 2)
    if node.extents(2) and not node.extents(1):
        refuse_dimensions(node, 2, node.extents(2), "and that of the indices is known")
    node.replace(1, without_padding(node.operand(1), node.extents(1), nowhere))
    node.replace(2, without_padding(node.operand(2), node.extents(2), 0))
    return handler(node)


RULES: dict[str, Rule] = {"ScatterElements": scatter_elements, "ScatterND": scatter_nd}
