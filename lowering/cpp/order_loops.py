"""The pass `order-loops`: the innermost loop walks memory with unit stride."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir, passmanager
from mnc.core.pass_base import Pass
from mnc.lowering.cpu.loop_order import vectorizable_order


@dataclass(frozen=True)
class OrderLoops(Pass):
    """Reorder the loops of reductions so that a compiler can vectorize the innermost one.

    before: ``linalg.generic`` with loops (m, n, k) for a matrix product
    after: loops (m, k, n); the order in which each element sums its terms stays
    """

    name: ClassVar[str] = "order-loops"

    def run(self, module: ir.Module) -> None:
        """Named operations become generic ones first."""

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == "linalg.generic":
                vectorizable_order(op)
            return ir.WalkResult.ADVANCE

        with module.context, ir.Location.unknown():
            passmanager.PassManager.parse("builtin.module(linalg-generalize-named-ops)").run(module.operation)
            module.operation.walk(visit)
