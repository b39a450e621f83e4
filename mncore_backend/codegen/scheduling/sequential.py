"""The plainest correct emission: one operation (or row of a chain) a step, with idle steps between. Slow, and the
reference that every schedule is compared with."""

from mnc.mncore_backend.assembly.records import Expression, RepeatedNop, Statement, Step
from mnc.mncore_backend.codegen.scheduling.chains import find_chains
from mnc.mncore_backend.codegen.scheduling.options import Schedule
from mnc.mncore_backend.codegen.scheduling.reading import transfer_of
from mnc.mncore_backend.codegen.scheduling.statements import NOP
from mnc.mncore_backend.codegen.scheduling.timeline import Timeline, timing_of
from mnc.mncore_backend.program import Program

IDLE_STEPS = 6
TAG = 1


def sequential(program: Program) -> Schedule:
    """Statements in program order, `IDLE_STEPS` nops behind each, every MV waited for at once. Latches keep their
    content over nops, so chains stay correct; their rows follow the order of their last members."""
    operations = program.operations
    rows = _rows(program)
    statements: list[Statement] = []
    locations: list[frozenset[str]] = []
    clock = Timeline()
    for row in rows:
        first = operations[row[0]]
        where = frozenset(operations[i].location for i in row) - {""}
        if first.is_transfer:
            transfer = transfer_of(first)
            made: list[Statement] = [
                type(transfer)(transfer.opcode, transfer.size, transfer.source, transfer.destination, TAG),
                Step((NOP, Expression("wait", tag=TAG))),
            ]
            clock.stall_until(clock.issue(timing_of(transfer)))
            clock.advance()
        else:
            made = [Step(tuple(operations[i].resolve() for i in row)), RepeatedNop(IDLE_STEPS)]
            clock.advance(1 + IDLE_STEPS)
        statements += made
        locations += [where] * len(made)
    return Schedule(statements, locations, clock.now - clock.stalled, clock.cycles)


def _rows(program: Program) -> list[tuple[int, ...]]:
    """Rows in program order; the rows of a chain stay together, at the place of its last member."""
    chains = find_chains(program.operations)
    chained = {i for chain in chains for row in chain.rows for i in row}
    ends = {chain.last: chain for chain in chains}
    rows: list[tuple[int, ...]] = []
    for index in range(len(program.operations)):
        if index in ends:
            rows += ends[index].rows
        elif index not in chained:
            rows.append((index,))
    return rows
