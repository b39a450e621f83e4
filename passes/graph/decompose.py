"""The pass `decompose`."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.pass_base import Pass
from mnc.core.rewrite import Pattern, Refusal, apply_greedily
from mnc.passes.graph.decomposition import HANDLERS, Handler


class DecomposeOperation(Pattern):
    """A composite operation becomes what its handler builds."""

    def __init__(self, name: str, handler: Handler) -> None:
        self.root = f"graph.{name}"  # pyright: ignore[reportAttributeAccessIssue]
        self.handler = handler

    def __call__(self, op: Any, rewriter: Any) -> bool:
        """Handlers refuse before they build anything, and build where the driver inserts."""
        with rewriter.ip, op.location:
            return super().__call__(op, rewriter)

    def match(self, op: Any) -> list[ir.Value] | Refusal | None:
        return self.handler(op)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, match)


@dataclass(frozen=True)
class Decompose(Pass):
    """Replace composite operations by primitive ones.

    before: ``%1 = graph.softmax(%0)``; after: ``exp(%0 - max) * reciprocal(sum)`` in five operations

    ``only`` names the operations to decompose (default: all that have a decomposition), ``keep`` those to leave.
    """

    name: ClassVar[str] = "decompose"
    only: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def run(self, module: ir.Module) -> None:
        """Raises CompileError for an operation without decomposition among the options."""
        for name in (*self.only, *self.keep):
            if name not in HANDLERS:
                known = ", ".join(sorted(HANDLERS))
                raise CompileError(f"pass '{self.name}': '{name}' has no decomposition", hint=f"those are: {known}")
        chosen = [name for name in HANDLERS if name not in self.keep and (not self.only or name in self.only)]
        apply_greedily(module, [DecomposeOperation(name, HANDLERS[name]) for name in chosen])
