"""The pass `hoist-views`."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.passes.graph.split_products import chain_from_product

VIEWS = ("graph.reshape", "graph.transpose")


@dataclass(frozen=True)
class HoistViews(Pass):
    """Move reshapes and transpositions of products with matrices up to the product.

    before: ``%q = x @ wq``, ``%k = x @ wk``, ``%heads = reshape(%q)``; after: ``%q``, ``%heads``, ``%k``

    Places are searched for in the order of operations, among few states at a time. What a view asks of a product is
    seen while the alternatives for that product are still there, and models that differ in the order of their nodes
    become the same program. Element-wise work with constants, as of a bias, may be between. Other views stay: the steps
    of a recurrence are told by the order of their operations.
    """

    name: ClassVar[str] = "hoist-views"

    def run(self, module: ir.Module) -> None:
        """Move all of every function."""
        for function in functions_of(module):
            for block in function.regions[0].blocks:
                self._hoist([op.operation for op in block.operations])

    @staticmethod
    def _hoist(operations: list[ir.Operation]) -> None:
        last: dict[ir.Operation, ir.Operation] = {}
        moved: set[ir.Operation] = set()
        for op in operations:
            if op.name not in VIEWS or isinstance(op.operands[0].owner, ir.Block):
                continue
            made = op.operands[0].owner.operation
            if made not in moved and not chain_from_product(op.operands[0]):
                continue
            moved.add(op)
            op.move_after(last.get(made, made))
            last[made] = op
