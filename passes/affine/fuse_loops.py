"""The pass `fuse-loops`: producer loops move into the loops of their consumer."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.passes.affine.upstream import run_upstream


@dataclass(frozen=True)
class FuseLoops(Pass):
    """Fuse affine loop nests and shrink the buffers between them.

    before: a nest that fills ``memref<16x32xf32>`` and one that reads it; after: one nest and a ``memref<1x1xf32>``

    Options:
        maximal: fuse as deep as legal, even if values are computed again.
        tolerance: additional work allowed, in percent.
    """

    name: ClassVar[str] = "fuse-loops"
    maximal: bool = False
    tolerance: int = 30

    def run(self, module: ir.Module) -> None:
        """Fuse in every function."""
        # Not sibling or greedy: after producer fusion upstream also fuses siblings across a scalar that is
        # rewritten between them (a softmax normalised by two different values of one buffer).
        options = f"mode=producer maximal={str(self.maximal).lower()} compute-tolerance={self.tolerance / 100}"
        with module.context, ir.Location.unknown():
            run_upstream(module, f"func.func(affine-loop-fusion{{{options}}},affine-scalrep),canonicalize,cse")
