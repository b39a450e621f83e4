"""What is said of the loops of a program: how often an iteration could begin, and what keeps it from beginning more
often."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.codegen.scheduling.modulo.body import Body
from mnc.mncore_backend.codegen.scheduling.modulo.iterative import ModuloSchedule, modulo_schedule
from mnc.mncore_backend.codegen.scheduling.modulo.reading import LoopBody, read_body
from mnc.mncore_backend.codegen.scheduling.modulo.recognise import TRIPS, Loop, find_loops
from mnc.mncore_backend.program import MachineOp

_ORDER = {unit: i for i, unit in enumerate(Unit)}
SCHEDULED = 32
"""Items of a body that is scheduled: of larger ones, only the bounds are said."""


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """Loops of one kind and one number of trips, with what one iteration needs.

    loops       where they are
    resources   steps of an iteration per resource, the busiest first
    recurrence  least interval that the dependences between iterations allow
    schedule    the shortest interval that the modulo scheduler finds; None for bodies that are long or have MVs
    kernel      the steady state: per step of the interval the operations, as ``opcode`` or ``opcode-k`` where they are
                of the k-th iteration before the newest
    """

    loops: Sequence[Loop]
    resources: Sequence[tuple[str, int]]
    recurrence: int
    schedule: ModuloSchedule | None
    kernel: Sequence[Sequence[str]]

    @property
    def least(self) -> int:
        """No schedule has a shorter interval."""
        return max(self.recurrence, self.resources[0][1] if self.resources else 1)


def loop_facts(operations: Sequence[MachineOp]) -> list[LoopFacts]:
    """All loops of a program whose buffers have addresses, by the first of each kind."""
    found: dict[tuple[int, tuple[int, ...]], list[Loop]] = {}
    for loop in find_loops(operations):
        found.setdefault((loop.trips, loop.kind), []).append(loop)
    known: dict[tuple[int, ...], LoopFacts] = {}
    facts = []
    for (_, kind), loops in found.items():
        if kind not in known:
            known[kind] = _facts(operations, loops)
        own = known[kind]
        facts.append(LoopFacts(loops, own.resources, own.recurrence, own.schedule, own.kernel))
    return facts


def _facts(operations: Sequence[MachineOp], loops: Sequence[Loop]) -> LoopFacts:
    read = read_body(operations, loops[0], TRIPS)
    resources = sorted(read.body.resource_bounds().items(), key=lambda pair: -pair[1])
    schedule = modulo_schedule(read.body) if _is_scheduled(read.body) else None
    kernel = [] if schedule is None else _kernel(operations, loops[0], read, schedule)
    return LoopFacts(loops, resources, read.body.recurrence_bound(), schedule, kernel)


def _is_scheduled(body: Body) -> bool:
    return len(body.items) <= SCHEDULED and not any(item.is_transfer for item in body.items)


def _kernel(
    operations: Sequence[MachineOp], loop: Loop, read: LoopBody, schedule: ModuloSchedule
) -> list[list[str]]:
    """See `LoopFacts`."""
    rows: list[list[tuple[int, str]]] = [[] for _ in range(schedule.interval)]
    newest = min(schedule.starts) // schedule.interval
    for position, (item, row) in enumerate(read.places):
        op = operations[loop.first + position]
        step = schedule.starts[item] + read.body.items[item].offsets[row]
        stage = step // schedule.interval - newest
        name = f"{op.opcode}-{stage}" if stage else op.opcode
        rows[step % schedule.interval].append((_ORDER[OPCODES[op.opcode].unit], name))
    return [[name for _, name in sorted(row)] for row in rows]
