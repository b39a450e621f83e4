"""Whether a module has products of activations, as attention has."""

from typing import Any

from mnc.lowering.linalg_to_spmd.reading import read_generic
from mnc.lowering.linalg_to_spmd.rearranging import is_in_dram


def multiplies_activations(module: Any) -> bool:
    """Whether both factors of some contraction are computed: neither is a weight or an input, or a part of one."""
    return any(
        op.operation.name == "linalg.generic" and _is_of_activations(op)
        for function in module.body.operations
        for region in function.operation.regions
        for block in region.blocks
        for op in block.operations
    )


def _is_of_activations(op: Any) -> bool:
    generic = read_generic(op)
    return generic.kind == "contraction" and not any(is_in_dram(factor.value) for factor in generic.inputs)
