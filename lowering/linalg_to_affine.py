"""The pass `linalg-to-affine`: loops with explicit bounds."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir, passmanager
from mnc.core.pass_base import Pass

_TO_AFFINE = (
    "linalg-generalize-named-ops,convert-linalg-to-affine-loops,raise-scf-to-affine,fold-memref-alias-ops,"
    "func.func(affine-raise-from-memref,affine-fold-memref-alias-ops),canonicalize,cse"
)


@dataclass(frozen=True)
class LinalgToAffine(Pass):
    """Lower linalg on buffers to `affine.for`, raise `scf.for`, and fold views into the accesses.

    before: ``linalg.generic {...} ins(%a) outs(%b)`` on memrefs
    after: ``affine.for %i = 0 to 4 { affine.load %a[%i] ... affine.store ... %b[%i] }``
    """

    name: ClassVar[str] = "linalg-to-affine"

    def run(self, module: ir.Module) -> None:
        """The module must be bufferized; operations on tensors are left alone."""
        with module.context, ir.Location.unknown():
            passmanager.PassManager.parse(f"builtin.module({_TO_AFFINE})").run(module.operation)
