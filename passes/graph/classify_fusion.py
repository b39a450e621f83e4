"""The pass `classify-fusion`."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.passes.graph.grouping import FusionClass
from mnc.passes.graph.tensors.kinds import ELEMENTWISE

FUSION = "mnc.fusion"
"""Attribute that holds the fusion class."""

_CLASSES: dict[str, FusionClass] = {
    **dict.fromkeys((*ELEMENTWISE, "batch_norm"), "injective"),
    **dict.fromkeys(("transpose", "reshape", "broadcast_to", "concat", "slice", "pad"), "injective"),
    **dict.fromkeys(("gather", "batch_gather"), "injective"),
    **dict.fromkeys(("reduce", "arg_reduce"), "reduction"),
    **dict.fromkeys(("matmul", "gemm", "conv", "conv_transpose", "pool"), "complex-out-fusable"),
    **dict.fromkeys(("softmax", "log_softmax", "layer_norm", "cum_sum"), "opaque"),
}


def class_of(op: Any) -> FusionClass:
    """Fusion class of a graph operation; what is not known is opaque."""
    return _CLASSES.get(op.operation.name.removeprefix("graph."), "opaque")


def graph_operations(module: ir.Module) -> list[list[Any]]:
    """The graph operations of every function, constants left out."""
    found = []
    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                operations = [view.operation for view in block.operations]
                found.append([o for o in operations if o.name.startswith("graph.") and o.name != "graph.constant"])
    return found


@dataclass(frozen=True)
class ClassifyFusion(Pass):
    """Write on every graph operation which of TVM's four fusion classes it has.

    before: ``graph.relu(%x)``; after: ``graph.relu(%x) {mnc.fusion = "injective"}``
    """

    name: ClassVar[str] = "classify-fusion"

    def run(self, module: ir.Module) -> None:
        """Annotate; constants have no class."""
        with module.context:
            for operations in graph_operations(module):
                for operation in operations:
                    operation.attributes[FUSION] = ir.StringAttr.get(class_of(operation))
