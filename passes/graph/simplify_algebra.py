"""The pass `simplify-algebra`."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.core.rewrite import apply_greedily
from mnc.passes.graph.algebra import patterns
from mnc.passes.graph.fold_constants import folding_patterns


@dataclass(frozen=True)
class SimplifyAlgebra(Pass):
    """Apply the laws of arithmetic that save work and change nothing beyond rounding.

    before: ``%2 = graph.mul(graph.mul(%x, 2), 3)``; after: ``%2 = graph.mul(%x, 6)``

    Identities, strength reduction, associativity, distributivity, constant factors into weights,
    comparisons and bounds. Laws that infinities, NaN or zeros of either sign break are refused with
    that reason. Constants that a law leaves behind are folded on the way.
    """

    name: ClassVar[str] = "simplify-algebra"

    def run(self, module: ir.Module) -> None:
        """Simplify until nothing changes; refusals are explained."""
        apply_greedily(module, [*patterns(), *folding_patterns()])
