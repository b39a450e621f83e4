"""What a rule sees of the operation it differentiates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.context import error_at
from mnc.core.diagnostics import CompileError
from mnc.dialects.graph.attributes import AttributeReader
from mnc.passes.autodiff.build import Value, shape_of


@dataclass(frozen=True)
class Adjoint(AttributeReader):
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

    def shape(self, operand: int) -> list[int]:
        """Shape of an operand."""
        return shape_of(self.op.operands[operand])

    def error(self, message: str, hint: str | None = None) -> CompileError:
        """An error that names the node, for the caller to raise."""
        return error_at(self.op, message, hint)


Rule = Callable[[Adjoint], Sequence[Value | None]]
"""From an operation and the gradients of its results to the gradient of every operand (None: zero or not wanted)."""
