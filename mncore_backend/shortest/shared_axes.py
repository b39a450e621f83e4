"""Whether a module has products that contract several dimensions, which may share axes of the chip."""

from typing import Any

from mnc.lowering.linalg_to_spmd.reading import Generic
from mnc.lowering.linalg_to_spmd.tiles import tiled_operands
from mnc.mncore_backend.placement.candidates import Windows, along_kernels, kernel_dims
from mnc.mncore_backend.shortest.contractions import contractions_of


def contracts_several(module: Any) -> bool:
    """Whether some contraction sums over several dimensions that are divided, as gradients of weights do over images
    and their rows. These are rows of other products, and how they share the axes of the chip decides what moves between
    the two."""
    return any(_contracts_several(own) for own in contractions_of(module))


def _contracts_several(generic: Generic) -> bool:
    contracted = [d for d, extent in enumerate(generic.extents) if extent > 1 and d not in generic.result]
    tiled = tiled_operands(generic)
    windows: Windows = tiled[0].windows if 0 in tiled else ()
    inside = kernel_dims(along_kernels(windows, generic.extents))  # windows move along these inside the PEs
    return len([d for d in contracted if d not in inside]) > 1
