"""What a rule sees of the operation it differentiates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import CompileError
from mnc.dialects.graph import attributes as attr
from mnc.passes.autodiff.build import Value, shape_of


@dataclass(frozen=True)
class Adjoint:
    """One operation on the way from the parameters to the loss.

    Attributes:
        op: the operation.
        gradients: per result the derivative of the loss with respect to it; None where it is zero.
        wanted: per operand whether its gradient is needed; rules return None for the others.
    """

    op: Any
    gradients: tuple[Value | None, ...]
    wanted: tuple[bool, ...]

    @property
    def gradient(self) -> Value:
        """Gradient of the only result that has one; raises CompileError if another result has one too."""
        if self.gradients[0] is None or any(g is not None for g in self.gradients[1:]):
            raise self.error("only its first result can be differentiated")
        return self.gradients[0]

    @property
    def operands(self) -> list[Value]:
        """Operand values."""
        return list(self.op.operands)

    @property
    def result(self) -> Value:
        """The first result."""
        return self.op.results[0]

    @property
    def attributes(self) -> Any:
        """Attributes of the operation."""
        return self.op.attributes

    def shape(self, operand: int) -> list[int]:
        """Shape of an operand."""
        return shape_of(self.op.operands[operand])

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

    def error(self, message: str, hint: str | None = None) -> CompileError:
        """An error that names the node, for the caller to raise."""
        return error_at(self.op, message, hint)


Rule = Callable[[Adjoint], Sequence[Value | None]]
"""From an operation and the gradients of its results to the gradient of every operand (None: zero or not wanted)."""
