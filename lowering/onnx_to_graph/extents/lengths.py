"""Shapes with elements that a run finds, followed through the operators with which exporters compute other shapes."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.lowering.onnx_to_graph.node import Node, cast, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.run_time_extents import LARGEST, Count

Lengths = Sequence[int | Count]


def _of(node: Node, index: int) -> Lengths | None:
    """The elements of an input, if they are known but for counts."""
    if node.lengths[index] is not None:
        return node.lengths[index]
    known = node.known(index)
    return None if known is None or known.dtype.kind not in "iu" else [int(n) for n in known.reshape(-1)]


def _same(node: Node) -> Lengths | None:
    return node.lengths[0]


def _picked(node: Node) -> Lengths | None:
    lengths, places = _of(node, 0), node.known(1)
    return None if lengths is None or places is None else [lengths[int(place)] for place in places.reshape(-1)]


def _part(node: Node) -> Lengths | None:
    lengths = _of(node, 0)
    bounds = [node.known(i) for i in (1, 2, 4)] if node.version >= 10 else []
    if lengths is None or len(bounds) < 3 or any(bound is None for bound in bounds[:2]):
        return None
    start, end, step = (None if bound is None else int(bound.reshape(-1)[0]) for bound in bounds)
    return list(lengths)[start:end:step]


def _joined(node: Node) -> Lengths | None:
    parts = [_of(node, i) for i in range(len(node.proto.input))]
    return None if any(part is None for part in parts) else [length for part in parts for length in part or ()]


_FOLLOWED: dict[str, Callable[[Node], Lengths | None]] = {
    **dict.fromkeys(("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"), _same),
    "Concat": _joined,
    "Gather": _picked,
    "Slice": _part,
}


def followed(node: Node) -> Lengths | None:
    """The elements of the result of a node that reads shapes with counts; None if they do not follow."""
    rule = _FOLLOWED.get(node.op_type) if node.proto.domain in ("", "ai.onnx") else None
    return None if rule is None or all(entry is None for entry in node.lengths) else rule(node)


def counted(node: Node, total: Any, known: Mapping[Any, Count]) -> Count | None:
    """What a sum of all elements of a mask, as `total`, counts; None for other sums.

    Args:
        known: the counts of masks whose true elements were picked before.
    """
    if node.op_type != "ReduceSum" or any(node.given) or shape_of(total) not in ([], [1]):
        return None
    mask = _mask_of(node.operand(0))
    if mask is None or (most := math.prod(shape_of(mask))) > LARGEST:
        return None
    count = next((count for other, count in known.items() if _mask_of(other) == mask), None)
    return count or Count(reshape(cast(total, ir.F32Type.get()), []), most)


def _mask_of(value: Any) -> Any | None:
    """The truth values of which a value is another form, of as many elements."""
    while isinstance(value.owner, ir.Operation | ir.OpView) and value.owner.name in ("graph.cast", "graph.reshape"):
        if element_type_of(value) == ir.IntegerType.get_signless(1) and value.owner.name == "graph.cast":
            break
        value = value.owner.operands[0]
    return value if element_type_of(value) == ir.IntegerType.get_signless(1) else None
