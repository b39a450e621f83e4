"""What a handler sees of the graph operation it lowers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.graph import attributes as attr


@dataclass(frozen=True)
class Source:
    """One graph operation, with the types it had before anything was lowered.

    Operands of the graph operation still have their graph types; a handler gets the lowered values
    (signless) as further arguments.
    """

    op: ir.Operation

    @property
    def attributes(self) -> Any:
        """Attributes of the operation."""
        return self.op.attributes

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

    def ints(self, name: str) -> list[int]:
        """Attribute ``array<i64: ...>``."""
        return attr.int_array(self.attributes, name)

    def int(self, name: str) -> int:
        """Integer attribute."""
        return attr.integer(self.attributes, name)

    def bool(self, name: str) -> bool:
        """Boolean attribute."""
        return attr.boolean(self.attributes, name)

    def real(self, name: str) -> float:
        """Float attribute."""
        return attr.real(self.attributes, name)

    def text(self, name: str) -> str:
        """String attribute."""
        return ir.StringAttr(self.attributes[name]).value


Handler = Callable[..., ir.Value | list[ir.Value]]
"""``handler(source, *lowered_operands)`` builds the lowered value, or one value per result."""
