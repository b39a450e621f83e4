"""The pass `normalize-loops`: every loop starts at 0 and steps by 1."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.passes.affine.upstream import run_upstream


@dataclass(frozen=True)
class NormalizeLoops(Pass):
    """Rewrite loop bounds to ``0 to count``, and simplify what is computed from the loop variables.

    before: ``affine.for %i = 4 to 20 step 4``; after: ``affine.for %i = 0 to 4`` using ``4 * %i + 4``

    Options:
        keep_single: keep loops that run once; otherwise they are replaced by their body.
    """

    name: ClassVar[str] = "normalize-loops"
    keep_single: bool = False

    def run(self, module: ir.Module) -> None:
        """Normalize every `affine.for`."""
        promote = "false" if self.keep_single else "true"
        with module.context, ir.Location.unknown():
            run_upstream(
                module,
                f"func.func(affine-loop-normalize{{promote-single-iter={promote}}},affine-simplify-min-max,"
                "affine-simplify-structures),canonicalize,cse",
            )
