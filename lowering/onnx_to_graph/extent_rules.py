"""What becomes of extents that a run finds: the table of operators that take values with such extents.

A rule calls the handler of the operator, which sees the values with their padding, and says which dimensions of the
results end early, too. Elements never mix with the padding: where a rule cannot promise that, it refuses the node.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.extents import contraction, elementwise, indexing, measuring, moving, shaping
from mnc.lowering.onnx_to_graph.extents.common import Handler, Rule, refusal
from mnc.lowering.onnx_to_graph.node import Node
from mnc.lowering.onnx_to_graph.run_time_extents import COUNTING


def _itself(handler: Handler, node: Node) -> Any:
    """Operators whose handlers look at extents by themselves."""
    return handler(node)


SHAPED = frozenset(shaping.RULES)
"""Operators that take a shape as an operand."""
RULES: Mapping[str, Rule] = {
    **elementwise.RULES,
    **moving.RULES,
    **indexing.RULES,
    **measuring.RULES,
    **contraction.RULES,
    **shaping.RULES,
    **dict.fromkeys(COUNTING, _itself),
}


def is_concerned(node: Node) -> bool:
    """Whether an operand has an extent that a run finds, or is a shape with one and decides that of the result."""
    return any(node.given) or (node.op_type in SHAPED and any(entry is not None for entry in node.lengths))


def with_extents(handler: Handler, node: Node) -> Callable[[Node], Any]:
    """The handler, for operands with extents that a run finds. Raises CompileError if the operator takes none."""
    rule = RULES.get(node.op_type) if node.proto.domain in ("", "ai.onnx") else None
    if rule is None:
        raise _untaken(node)
    return lambda own: rule(handler, own)


def _untaken(node: Node) -> CompileError:
    index = next(i for i, extents in enumerate(node.given) if extents)
    return refusal(node, index, min(node.given[index]), "which this operator does not take")
