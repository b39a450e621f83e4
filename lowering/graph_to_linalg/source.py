"""What a handler sees of the graph operation it lowers."""

from collections.abc import Callable
from dataclasses import dataclass

from mnc.core.bindings import ir
from mnc.dialects.graph.attributes import AttributeReader


@dataclass(frozen=True)
class Source(AttributeReader):
    """One graph operation, with the types it had before anything was lowered.

    Operands of the graph operation still have their graph types; a handler gets the lowered values
    (signless) as further arguments.
    """

    op: ir.Operation

    def element(self, operand: int) -> ir.Type:
        """Graph element type of an operand; may be unsigned."""
        return ir.RankedTensorType(self.op.operands[operand].type).element_type

    def shape(self, operand: int) -> list[int]:
        """Shape of an operand."""
        return list(ir.RankedTensorType(self.op.operands[operand].type).shape)

    def result_element(self, result: int = 0) -> ir.Type:
        """Graph element type of a result; may be unsigned."""
        return ir.RankedTensorType(self.op.results[result].type).element_type

    def result_shape(self, result: int = 0) -> list[int]:
        """Shape of a result."""
        return list(ir.RankedTensorType(self.op.results[result].type).shape)


Handler = Callable[..., ir.Value | list[ir.Value]]
"""``handler(source, *lowered_operands)`` builds the lowered value, or one value per result."""
