"""The MVs of a large tensor that L2BM takes as a whole: emitted by turns of the halves, read again, cut as planned.

In DRAM the halves lie behind each other: the even L2Bs of every group first, then the odd ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.machine import GROUPS
from mnc.mncore_backend.movement.halves import HALF_LATENCY, Plan
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, MachineOp, Program, upper


@dataclass(frozen=True, slots=True)
class Turn:
    """What an MV brings from DRAM to one half of every group, at which offsets (long words)."""

    dram: Buffer
    there: int
    l2bm: Buffer
    half: int
    start: int
    size: int


def emit_by_turns(builder: Builder, dram: Buffer, l2bm: Buffer, total: int) -> None:
    """Emit MVs of which the halves take turns, for `total` long words of each L2BM."""
    for start in range(0, total, HALF_LATENCY):
        size = min(HALF_LATENCY, total - start)
        for half in range(2):
            builder.emit("mvp", [upper(dram, half * total + start)], [upper(l2bm, start, l2b=half)], size=size)


def turn_of(op: MachineOp) -> Turn | None:
    """Such an MV, None for any other operation."""
    if op.opcode != "mvp":
        return None
    source, target = op.sources[0], op.destinations[0]
    if not isinstance(source, BufferOperand) or not isinstance(target, BufferOperand) or source.group is not None:
        return None
    if source.buffer.choices[0] is not Memory.DRAM or target.l2b is None:
        return None
    return Turn(source.buffer, source.offsets[0], target.buffer, target.l2b, target.offsets[0], op.size)


def planned_moves(
    program: Program, plan: Plan, dram: Buffer, l2bm: Buffer, total: int, location: str
) -> Iterator[tuple[MachineOp, float]]:
    """The MVs of a plan and when they are to move data. What passes by PDM gets a buffer there."""
    for segment in plan.segments:
        source = upper(dram, segment.half * total + segment.start)
        if segment.from_pdm:
            ahead = program.buffer("ahead", segment.size, (Memory.PDM,), alignment=MV_UNIT)
            for group in range(GROUPS):
                there, here = (operand._replace(group=group) for operand in (source, upper(ahead)))
                yield MachineOp("mvp", (there,), (here,), size=segment.size, location=location), plan.staging
            source = upper(ahead)
        target = upper(l2bm, segment.start, l2b=segment.half)
        yield MachineOp("mvp", (source,), (target,), size=segment.size, location=location), segment.begin
