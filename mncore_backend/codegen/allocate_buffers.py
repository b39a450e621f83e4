"""allocate-buffers: a memory and an address for every buffer, by lifetime.

before:  mncore.buffer {sym_name = "b3", size = 24, choices = "LM0,LM1"}
after:   mncore.buffer {..., memory = "LM1", base = 96}

Small, short-lived buffers of the local memories go to register files where ports and room allow it (`promote`). Where
one local memory overflows beside the other, what some buffers give and take passes a register (`relieve`).
"""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.program_ir import read_unit, rewrite_program


@dataclass(frozen=True)
class AllocateBuffers(Pass):
    """Give every buffer a memory and an address; buffers whose lives do not overlap share memory."""

    name = "allocate-buffers"

    def run(self, module: Any) -> None:
        """Annotate every ``mncore.buffer``; raises CapacityError when a memory is too small."""
        with module.context, ir.Location.unknown():
            unit = read_unit(module)
            before = len(unit.program.operations)
            allocate(unit.program)
            if len(unit.program.operations) > before:
                rewrite_program(module, unit)
            i64 = ir.IntegerType.get_signless(64)
            for function in module.body.operations:
                for op in function.operation.regions[0].blocks[0].operations:
                    if op.operation.name != "mncore.buffer":
                        continue
                    buffer = unit.buffers[ir.StringAttr(op.operation.attributes["sym_name"]).value]
                    if buffer.memory is None:  # nothing uses it
                        continue
                    op.operation.attributes["memory"] = ir.StringAttr.get(buffer.memory.name)
                    op.operation.attributes["base"] = ir.IntegerAttr.get(i64, buffer.base)
