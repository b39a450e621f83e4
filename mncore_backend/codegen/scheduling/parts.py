"""Long programs are scheduled in two parts, at the same time where there are two processors.

The second part starts when all transfers of the first have finished and no distance reaches back across the cut, so
that neither needs to know the schedule of the other. What that costs is the overlap at one place of a long program.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from mnc.core.diagnostics import NODE_SEPARATOR
from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.assembly.records import Memory, RepeatedNop
from mnc.mncore_backend.codegen.scheduling.chains import TIES, produced_latch
from mnc.mncore_backend.codegen.scheduling.options import Schedule
from mnc.mncore_backend.codegen.scheduling.orders import Both, best_schedule
from mnc.mncore_backend.codegen.scheduling.reading import moving_memories
from mnc.mncore_backend.program import BufferOperand, MachineOp, Program
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

PARTED = 50_000
"""Operations of a program that is scheduled in parts: below, the second processor would gain a few seconds at most."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A scheduled program as text: statements, and the nodes each works for, joined by the node separator."""

    texts: list[str]
    nodes: list[str]


def scheduled_lines(
    program: Program,
    both: Both | None = None,
    *,
    parted: int = PARTED,
    most: int | None = None,
) -> Lines:
    """The lines of the best schedule, or of the best schedules of two parts of a program of at least `parted`
    operations. `both` does two pieces of work at the same time. Raises InternalError for
    operations that no step can take, and TooLongError where the program, or one of its parts, has no hope
    of taking `most` cycles or fewer."""
    parts = cut(program) if len(program.operations) >= parted else None
    if parts is None:
        return _scheduled(program, most, both)
    first, second = parts
    work = partial(_scheduled, first, most), partial(_scheduled, second, most)
    before, after = (work[0](), work[1]()) if both is None else both(*work)
    between = _lines(_seam())
    return Lines(before.texts + between.texts + after.texts, before.nodes + between.nodes + after.nodes)


def _scheduled(program: Program, most: int | None, both: Both | None = None) -> Lines:
    return _lines(best_schedule(program, most, both))


def _seam() -> Schedule:
    """What lies between two schedules: no hazard reaches across it."""
    steps = chip().longest_hazard_steps
    return Schedule([RepeatedNop(steps)], [frozenset()], steps, CYCLES_PER_STEP * steps)


def joined(first: Schedule, second: Schedule) -> Schedule:
    """One schedule behind the other, neither of which leaves a transfer unfinished."""
    parts = (first, _seam(), second)
    return Schedule(
        [statement for part in parts for statement in part.statements],
        [nodes for part in parts for nodes in part.locations],
        sum(part.steps for part in parts),
        sum(part.cycles for part in parts),
    )


def cut(program: Program) -> tuple[Program, Program] | None:
    """The operations in two parts of about the same length; None if they hang together. Base registers, which shift
    all addresses behind them, are not cut off from what they shift."""
    operations = program.operations
    place = _place(operations)
    if place == len(operations) or moving_memories(operations):
        return None
    return replace(program, operations=operations[:place]), replace(program, operations=operations[place:])


def _place(operations: Sequence[MachineOp]) -> int:
    """The first place from the middle on behind which nothing reads a latch that was filled before it."""
    place = len(operations) // 2
    filled: set[Memory] = set()
    for index in range(place, len(operations)):
        op = operations[index]
        read = {o.memory for o in op.sources if not isinstance(o, BufferOperand) and o.memory in TIES}
        if read - filled:
            place = index + 1
            filled.clear()
        elif (latch := produced_latch(op)) is not None:
            filled.add(latch)
    return place


def _lines(result: Schedule) -> Lines:
    names: dict[frozenset[str], str] = {}

    def name(locations: frozenset[str]) -> str:
        if locations not in names:
            single = {name for both in locations for name in both.split(NODE_SEPARATOR) if name}
            names[locations] = NODE_SEPARATOR.join(sorted(single))
        return names[locations]

    return Lines([print_statement(s) for s in result.statements], [name(nodes) for nodes in result.locations])
