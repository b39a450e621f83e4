"""Operators that treat the parts of a batch, or the rows of a matrix, each by itself."""

from typing import Any

from mnc.lowering.onnx_to_graph.extents.common import Handler, Rule, give_all, refuse_dimensions, refuse_others
from mnc.lowering.onnx_to_graph.extents.elementwise import broadcast
from mnc.lowering.onnx_to_graph.node import Node, shape_of

_ADDED = "and products along it are added up"


def matmul(handler: Handler, node: Node) -> Any:
    """MatMul: rows of the left and columns of the right matrices, and batches of both."""
    left, right = (shape_of(node.operand(i)) for i in range(2))
    refuse_dimensions(node, 0, [len(left) - 1], _ADDED)
    refuse_dimensions(node, 1, [max(len(right) - 2, 0)], _ADDED)
    # As for broadcasting, the rows of the right one and the columns of the left one are one element.
    left_shape = [*left[:-1], 1] if len(left) > 1 else [1, 1]
    right_shape = [*right[:-2], 1, right[-1]] if len(right) > 1 else [1, 1]
    found = broadcast(node, [left_shape, right_shape])
    result = handler(node)
    dropped = (len(left) == 1) + (len(right) == 1)
    if dropped and found:  # a vector brings no dimension of its own
        rank = max(len(left_shape), len(right_shape))
        lost = {rank - 2} if len(left) == 1 else {rank - 1}
        kept = [i for i in range(rank) if i not in lost]
        found = {kept.index(dimension): count for dimension, count in found.items()}
    return give_all(node, result, found)


def gemm(handler: Handler, node: Node) -> Any:
    """Gemm: rows of the first matrix, whatever is added to all of them."""
    refuse_others(node, 0)
    rows = 1 if node.attribute("transA", 0) else 0
    refuse_dimensions(node, 0, [1 - rows], _ADDED)
    found = {0: node.extents(0)[rows]}
    if node.has(2) and len(added := shape_of(node.operand(2))) == 2 and added[0] != 1:
        refuse_dimensions(node, 0, [rows], f"and {added[0]} rows are added to it")
    return give_all(node, handler(node), found)


def batch(handler: Handler, node: Node) -> Any:
    """Operators that treat every image of the first dimension by itself."""
    refuse_others(node, 0)
    refuse_dimensions(node, 0, range(1, len(shape_of(node.operand(0)))), "and the operator mixes what lies along it")
    return give_all(node, handler(node), node.extents(0))


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool",
         "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN", "MaxPool", "SpaceToDepth"), batch),
    "Gemm": gemm,
    "MatMul": matmul,
}  # fmt: skip
