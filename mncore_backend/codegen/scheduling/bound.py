"""What a program takes at least, however it is scheduled."""

from collections import Counter

from mnc.mncore_backend.assembly.isa import OPCODES
from mnc.mncore_backend.codegen.scheduling.reading import transfer_of
from mnc.mncore_backend.codegen.scheduling.timeline import timing_of
from mnc.mncore_backend.program import Program
from mnc.mncore_backend.target import CYCLES_PER_STEP


def least_cycles(program: Program, *, has_addresses: bool = True) -> int:
    """Cycles for which the busiest unit of the PEs, or side of a memory that MVs use, has work. Without addresses MVs
    do not count."""
    steps: Counter[object] = Counter()
    for op in program.operations:
        if op.is_transfer and not has_addresses:
            continue
        if op.is_transfer:
            timing = timing_of(transfer_of(op))
            steps.update(dict.fromkeys(timing.ports, timing.data_steps))
        else:
            steps[OPCODES[op.opcode].unit] += 1
    return CYCLES_PER_STEP * max(steps.values(), default=0)
