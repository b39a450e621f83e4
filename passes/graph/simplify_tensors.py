"""The pass `simplify-tensors`."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.core.rewrite import apply_greedily
from mnc.passes.graph.fold_constants import folding_patterns
from mnc.passes.graph.tensors import patterns


@dataclass(frozen=True)
class SimplifyTensors(Pass):
    """Remove and move operations that only move elements.

    before: ``%2 = graph.transpose(graph.relu(graph.transpose(%x)))``; after: ``%2 = graph.relu(%x)``

    Slices and gathers move toward the inputs, transpositions, reshapes and broadcasts toward the
    outputs, until they cancel. Transposed and sliced constants are folded on the way.
    """

    name: ClassVar[str] = "simplify-tensors"

    def run(self, module: ir.Module) -> None:
        """Simplify until nothing changes; refusals are explained."""
        apply_greedily(module, [*patterns(), *folding_patterns()])
