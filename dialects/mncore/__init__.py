"""The hardware dialect: memories and placements, transfers, kernels, machine instructions."""

from mnc.dialects.mncore.attributes import LayoutAttribute, Memory, Placed
from mnc.dialects.mncore.base import Mncore as DIALECT
from mnc.dialects.mncore.base import attach_memory_effects
from mnc.dialects.mncore.kernels import FillPadding, Lookup, Matmul, Reduce, filled_dims, reduced_axes
from mnc.dialects.mncore.machine import Buffer, Image, Instruction, Kept, Statement
from mnc.dialects.mncore.movement import (
    Constant,
    Dl,
    Fetch,
    Gather,
    Relayout,
    Resident,
    Scratch,
    Spill,
    Ul,
    summed_axes,
)
from mnc.dialects.mncore.target import MACHINE, machine_of, name_machine


def attach_interfaces() -> None:
    """Attach memory effects after loading, so that dead-code passes do not remove what writes memory."""
    for op_class in (Dl, Ul, Relayout, Gather, Reduce, Spill, Fetch):
        attach_memory_effects(op_class, reads=(0,), writes=(1,))
    attach_memory_effects(Matmul, reads=(0, 1, 3), writes=(2,))
    attach_memory_effects(Lookup, reads=(0, 1), writes=(2,))
    attach_memory_effects(FillPadding, reads=(), writes=(0,))


__all__ = [
    "DIALECT", "MACHINE", "Buffer", "Constant", "Dl", "Fetch", "FillPadding", "Gather", "Image", "Instruction", "Kept",
    "LayoutAttribute", "Lookup", "Matmul", "Memory", "Placed", "Reduce", "Relayout", "Resident", "Scratch", "Spill",
    "Statement", "Ul", "filled_dims", "machine_of", "name_machine", "reduced_axes", "summed_axes",
]  # fmt: skip
