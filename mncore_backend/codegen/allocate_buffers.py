"""allocate-buffers: a memory and an address for every buffer, by lifetime.

before:  mncore.buffer {sym_name = "b3", size = 24, choices = "LM0,LM1"}
after:   mncore.buffer {..., memory = "LM1", base = 96}

Small, short-lived buffers of the local memories go to register files where ports and room allow it (`promote`). Where
one local memory overflows beside the other, what some buffers give and take passes a register (`relieve`).
"""

from dataclasses import dataclass

from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit


@dataclass(frozen=True)
class AllocateBuffers(MachinePass):
    """Give every buffer a memory and an address; buffers whose lives do not overlap share memory."""

    name = "allocate-buffers"
    done = "placed"

    def run_on(self, unit: Unit) -> None:
        """Place every buffer that something uses; raises CapacityError when a memory is too small."""
        before = len(unit.program.operations)
        allocate(unit.program)
        unit.is_rewritten |= len(unit.program.operations) > before
