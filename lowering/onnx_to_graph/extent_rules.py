"""What becomes of extents that a run finds: the table of operators that take values with such extents.

A rule calls the handler of the operator, which sees the values with their padding, and says which dimensions of the
results end early, too. Elements never mix with the padding: where a rule cannot promise that, it refuses the node.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.extents import (
    contraction,
    elementwise,
    indexing,
    measuring,
    moving,
    scattering,
    shaping,
    slicing,
)
from mnc.lowering.onnx_to_graph.extents.common import Handler, Rule, refusal
from mnc.lowering.onnx_to_graph.node import Node
from mnc.lowering.onnx_to_graph.run_time_extents import COUNTING, Count


def _itself(handler: Handler, node: Node) -> Any:
    """Operators whose handlers look at extents by themselves."""
    return handler(node)


SHAPED: Mapping[str, int] = {"ConstantOfShape": 0, "Expand": 1, "Reshape": 1, "Slice": 2}
"""Operators that take a shape, or a part of one, and the operand that it is."""
RULES: Mapping[str, Rule] = {
    **elementwise.RULES,
    **moving.RULES,
    **indexing.RULES,
    **measuring.RULES,
    **contraction.RULES,
    **scattering.RULES,
    **shaping.RULES,
    **slicing.RULES,
    **dict.fromkeys(COUNTING, _itself),
}


def is_concerned(node: Node) -> bool:
    """Whether an operand has an extent that a run finds, or is a shape with one and decides that of the result."""
    index = SHAPED.get(node.op_type, len(node.lengths))
    return any(node.given) or (index < len(node.lengths) and _is_counted(node.lengths[index]))


def _is_counted(lengths: Sequence[int | Count] | None) -> bool:
    return any(isinstance(entry, Count) for entry in lengths or ())


def with_extents(handler: Handler, node: Node) -> Callable[[Node], Any]:
    """The handler, for operands with extents that a run finds. Raises CompileError if the operator takes none."""
    rule = RULES.get(node.op_type) if node.proto.domain in ("", "ai.onnx") else None
    if rule is None:
        raise _untaken(node)
    return lambda own: rule(handler, own)


def _untaken(node: Node) -> CompileError:
    index = next(i for i, extents in enumerate(node.given) if extents)
    return refusal(node, index, min(node.given[index]), "which this operator does not take")
