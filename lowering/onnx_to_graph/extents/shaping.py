"""Operators that make a value of a shape that is an operand: that of another value whose extents a run finds."""

from typing import Any

import numpy as np

from mnc.lowering.onnx_to_graph.extents import moving
from mnc.lowering.onnx_to_graph.extents.common import Count, Extents, Handler, Rule, refusal, refuse_others
from mnc.lowering.onnx_to_graph.node import WITHOUT_COUNTS, Node, broadcast_to, constant, shape_of


def _lengths(node: Node, index: int) -> list[int | Count]:
    """The elements of a shape; raises CompileError where they are not known, not even as counts."""
    found = node.lengths[index]
    return list(node.constant_ints(index, "shape") if found is None else found)


def _room(lengths: list[int | Count]) -> list[int]:
    return [length.most if isinstance(length, Count) else length for length in lengths]


def expand(handler: Handler, node: Node) -> Any:
    """Expand: to the extents of the other value, which are those of the operand, or in place of 1."""
    refuse_others(node, 0)
    x, lengths = node.operand(0), _lengths(node, 1)
    own, extents = shape_of(x), node.extents(0)
    rank = max(len(own), len(lengths))
    lengths = [1] * (rank - len(lengths)) + lengths
    shape = [1] * (rank - len(own)) + own
    found = {rank - len(own) + i: count for i, count in extents.items()}
    for i, length in enumerate(lengths):
        if i in found:
            _check_meeting(node, i - rank + len(own), found[i], length)
        elif isinstance(length, Count):
            if shape[i] != 1:
                text = f"a shape with an extent that a run finds, at most {length.most}, meets one of {shape[i]}"
                raise node.error(text, hint="expand a dimension of one element")
            found[i] = length
    wanted = [n if n != 1 else room for n, room in zip(shape, _room(lengths), strict=True)]
    wanted = [found[i].most if i in found else n for i, n in enumerate(wanted)]
    node.found[0] = found
    return broadcast_to(x, wanted)


def _check_meeting(node: Node, dimension: int, count: Count, length: int | Count) -> None:
    if isinstance(length, Count):
        if length.number != count.number:
            raise refusal(node, 0, dimension, "and the shape has another one that a run finds there")
    elif length != 1:
        raise refusal(node, 0, dimension, f"and the shape has {length} there")


def constant_of_shape(_: Handler, node: Node) -> Any:
    """ConstantOfShape: one number, with room for all elements."""
    lengths = _lengths(node, 0)
    value = node.attribute("value", np.zeros(1, np.float32))
    found: Extents = {i: length for i, length in enumerate(lengths) if isinstance(length, Count)}
    node.found[0] = found
    return constant(np.full(_room(lengths), value.reshape(())))


def reshape(handler: Handler, node: Node) -> Any:
    """Reshape: to extents that are found by the same counts as those of the operand."""
    refuse_others(node, 0)
    counts = [entry for entry in node.lengths[1] or () if isinstance(entry, Count)]
    result = moving.reshaped(node, handler(node))
    numbers = [count.number for count in node.found[0].values()]
    for count in counts:
        if count.number not in numbers:
            text = f"its shape has an extent that a run finds, at most {count.most}, and its operand has no such one"
            raise node.error(text, hint=WITHOUT_COUNTS)
    return result


RULES: dict[str, Rule] = {"ConstantOfShape": constant_of_shape, "Expand": expand, "Reshape": reshape}
