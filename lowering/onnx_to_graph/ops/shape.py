"""Operators that change the shape and keep the elements."""

import math
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.dialects.graph import shapes as shape_rules
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.element_types import held
from mnc.lowering.onnx_to_graph.node import Node, broadcast_to, reshape, shape_of
from mnc.lowering.onnx_to_graph.sparse_tensors import dense
from mnc.lowering.onnx_to_graph.unsupported_hints import STRINGS


def transpose(node: Node) -> Any:
    """Transpose; without perm the dimensions are reversed."""
    x = node.operand(0)
    permutation = node.attribute("perm", list(range(len(shape_of(x))))[::-1])
    return graph.Transpose.build(x, permutation=permutation).result


def reshape_to(node: Node) -> Any:
    """Reshape: 0 copies an extent unless allowzero, -1 takes what is left."""
    x = node.operand(0)
    shape, target = shape_of(x), node.shape_ints(1, "shape")
    if not node.attribute("allowzero", 0):
        if any(extent == 0 and i >= len(shape) for i, extent in enumerate(target)):
            raise node.error(f"shape {target} copies an extent that an operand of rank {len(shape)} does not have")
        target = [shape[i] if extent == 0 else extent for i, extent in enumerate(target)]
    if target.count(-1) > 1:
        raise node.error(f"shape {target} leaves more than one extent open")
    if -1 in target:
        rest = math.prod(extent for extent in target if extent != -1)
        if rest == 0 or math.prod(shape) % rest:
            raise node.error(f"cannot reshape {shape_rules.text(shape)} to {target}")
        target[target.index(-1)] = math.prod(shape) // rest
    return reshape(x, target)


def flatten(node: Node) -> Any:
    """Flatten to a matrix; the axis may equal the rank."""
    x = node.operand(0)
    shape, axis = shape_of(x), node.attribute("axis", 1)
    axis = axis if axis == len(shape) else node.axis(axis, len(shape))
    return reshape(x, [math.prod(shape[:axis]), math.prod(shape[axis:])])


def _axes(node: Node) -> list[int] | None:
    """Axes of Squeeze and Unsqueeze: an attribute before version 13, an input since."""
    if node.version >= 13:
        return node.constant_ints(1, "axes") if node.has(1) else None
    return node.attribute("axes")


def squeeze(node: Node) -> Any:
    """Squeeze the given dimensions, or all of extent 1."""
    x = node.operand(0)
    shape, axes = shape_of(x), _axes(node)
    axes = [i for i, e in enumerate(shape) if e == 1] if axes is None else node.axes(axes, len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise node.error(f"cannot squeeze axes {axes} of shape {shape_rules.text(shape)}")
    return reshape(x, [extent for i, extent in enumerate(shape) if i not in axes])


def unsqueeze(node: Node) -> Any:
    """Unsqueeze: axes count in the result."""
    x = node.operand(0)
    shape, given = shape_of(x), _axes(node) or []
    axes = node.axes(given, len(shape) + len(given))
    rest = iter(shape)
    return reshape(x, [1 if i in axes else next(rest) for i in range(len(shape) + len(axes))])


def concat(node: Node) -> Any:
    """Concat along one axis."""
    operands = node.operands()
    return concat_tree(operands, node.axis(node.attribute("axis"), len(shape_of(operands[0]))))


def expand(node: Node) -> Any:
    """Expand: both shapes broadcast."""
    x = node.operand(0)
    return broadcast_to(x, shape_rules.broadcast(shape_of(x), node.constant_ints(1, "shape")))


def tile(node: Node) -> Any:
    """Tile: a broadcast over an inserted dimension in front of each repeated one."""
    x = node.operand(0)
    shape, repeats = shape_of(x), node.constant_ints(1, "repeats")
    if all(repeat == 1 for repeat in repeats):
        return x
    split = reshape(x, [part for extent in shape for part in (1, extent)])
    wide = broadcast_to(split, [part for pair in zip(repeats, shape, strict=True) for part in pair])
    return reshape(wide, [repeat * extent for repeat, extent in zip(repeats, shape, strict=True)])


def depth_to_space(node: Node) -> Any:
    """DepthToSpace in mode DCR or CRD."""
    x, size = node.operand(0), node.attribute("blocksize")
    n, c, h, w = shape_of(x)
    deep = c // (size * size)
    if node.attribute("mode", "DCR") == "DCR":
        blocks, permutation = reshape(x, [n, size, size, deep, h, w]), [0, 3, 4, 1, 5, 2]
    else:
        blocks, permutation = reshape(x, [n, deep, size, size, h, w]), [0, 1, 4, 2, 5, 3]
    return reshape(graph.Transpose.build(blocks, permutation=permutation).result, [n, deep, h * size, w * size])


def space_to_depth(node: Node) -> Any:
    """SpaceToDepth in mode DCR or CRD."""
    x, size = node.operand(0), node.attribute("blocksize")
    n, c, h, w = shape_of(x)
    blocks = reshape(x, [n, c, h // size, size, w // size, size])
    permutation = [0, 3, 5, 1, 2, 4] if node.attribute("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    moved = graph.Transpose.build(blocks, permutation=permutation).result
    return reshape(moved, [n, c * size * size, h // size, w // size])


def constant(node: Node) -> Any:
    """Constant in any of its forms that hold numbers."""
    for name, dtype in (("value", None), ("value_float", np.float32), ("value_floats", np.float32),
                        ("value_int", np.int64), ("value_ints", np.int64)):  # fmt: skip
        value = node.attribute(name)
        if value is not None:
            return graph.Constant.build(value=np.asarray(value, dtype)).result
    sparse = node.attribute("sparse_value")
    if sparse is None:
        raise node.error("only numbers are supported", hint=STRINGS)
    return graph.Constant.build(value=held(dense(sparse))).result


def constant_of_shape(node: Node) -> Any:
    """ConstantOfShape with a shape known at compile time."""
    value = np.asarray(node.attribute("value", np.zeros(1, np.float32))).reshape(())
    return graph.Constant.build(value=np.full(node.constant_ints(0, "shape"), value)).result
