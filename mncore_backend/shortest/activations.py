"""Whether a module has products of activations, as attention has."""

from typing import Any

from mnc.lowering.linalg_to_spmd.rearranging import is_in_dram
from mnc.mncore_backend.shortest.contractions import contractions_of


def multiplies_activations(module: Any) -> bool:
    """Whether both factors of some contraction are computed: neither is a weight or an input, or a part of one."""
    return any(not any(is_in_dram(factor.value) for factor in own.inputs) for own in contractions_of(module))
