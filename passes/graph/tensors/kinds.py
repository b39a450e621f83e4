"""Element-wise operations by number of operands."""

from typing import Any

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.binary import ArithmeticOp, CompareOp, LogicOp
from mnc.dialects.graph.unary import UnaryOp
from mnc.passes.graph.matching import rebuilt, shape_of, typed


def _names(*bases: type) -> tuple[str, ...]:
    return tuple(name.removeprefix("graph.") for name, kind in graph.OPERATIONS.items() if issubclass(kind, bases))


_TYPED = ("cast", "bitcast")
UNARY = (*_names(UnaryOp), *_TYPED)
"""Element-wise operations on one tensor."""
BINARY = _names(ArithmeticOp, CompareOp, LogicOp)
"""Element-wise operations on two tensors."""
ELEMENTWISE = (*UNARY, *BINARY, "where")
"""All element-wise operations, which broadcast their operands."""


def rebuilt_elementwise(op: Any, *operands: ir.Value) -> ir.Value:
    """The same element-wise operation on other operands; keeps the element type of a conversion."""
    if op.operation.name.removeprefix("graph.") in _TYPED:
        return rebuilt(op, *operands, result_type=typed(shape_of(operands[0]), op.operation.results[0]))
    return rebuilt(op, *operands)
