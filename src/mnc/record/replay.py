"""Every line of a program in time: when it is issued, how long issue stops at it and for what, when transfers run.

Times are steps of four cycles, by the timing model of transfers (OPEN-48) that the scheduler and the report use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Memory, RepeatedNop, Statement, Step, Transfer
from mnc.mncore_backend.codegen.scheduling.timeline import Port, Timeline, timing_of
from mnc.mncore_backend.target import chip

ISSUE = -1
"""In place of a line that is waited for: the machine takes an MV only some steps after the last."""


@dataclass(slots=True)
class Event:
    """A line. `start` is the step in which it is issued, after `stall` steps in which issue stopped; `awaited` is the
    number of the line of the transfer that was waited for, `ISSUE`, or None. Numbers of lines count from 0."""

    line: int
    statement: Statement
    start: int
    steps: int
    stall: int = 0
    awaited: int | None = None


@dataclass(slots=True)
class Movement:
    """An MV: its line, and when it is issued, when its data phase runs, and when it has finished. `path` names source
    and destination memories, `long_words` those that it takes from, or brings to, DRAM (all groups together)."""

    line: int
    issued: int
    start: int
    end: int
    finish: int
    path: str
    ports: tuple[Port, ...]
    dram_read: int = 0
    dram_written: int = 0


@dataclass(slots=True)
class Replay:
    """All lines and transfers in order, and the time at which everything has finished."""

    events: list[Event] = field(default_factory=list)
    movements: dict[int, Movement] = field(default_factory=dict)
    end: int = 0


def replay(statements: Sequence[Statement]) -> Replay:
    """Time of all statements. Raises InternalError for an MV that the machine does not have."""
    result, timeline = Replay(), Timeline()
    running: dict[int, tuple[int, int]] = {}  # tag -> completion, line
    for line, statement in enumerate(statements):
        before, stalled = timeline.now, timeline.stalled
        event = Event(line, statement, before, 0)
        if isinstance(statement, RepeatedNop):
            event.steps = statement.count
        elif isinstance(statement, Step):
            event.steps = 1
            for expression in statement.expressions:
                if expression.opcode == "wait" and expression.tag in running:
                    finish, awaited = running.pop(expression.tag)
                    if finish > timeline.now:
                        event.awaited = awaited
                    timeline.stall_until(finish)
        elif isinstance(statement, Transfer) and statement.opcode != "mvnop":
            _issue(line, statement, timeline, running, result)
            event.awaited = ISSUE if timeline.stalled > stalled else None
        event.stall = timeline.stalled - stalled
        event.start = timeline.now
        timeline.advance(event.steps)
        result.events.append(event)
    result.end = max(timeline.now, timeline.last_finish)
    return result


def _issue(
    line: int, statement: Transfer, timeline: Timeline, running: dict[int, tuple[int, int]], result: Replay
) -> None:
    timing = timing_of(statement)
    finish = timeline.issue(timing)
    if statement.tag is not None:
        running[statement.tag] = finish, line
    end = finish - chip().mv_latency_steps
    source, destination = statement.source, statement.destination
    assert source is not None and destination is not None  # timing_of has looked
    path = f"{Memory(source.memory).name} to {Memory(destination.memory).name}"
    made = Movement(line, timeline.now, end - timing.data_steps, end, finish, path, timing.ports)
    for access in transfer_accesses(statement):
        if access.memory is Memory.DRAM:
            longs = sum(last - first for first, last in access.cycles[0]) * access.instances.bit_count()
            made.dram_read += 0 if access.write else longs
            made.dram_written += longs if access.write else 0
    result.movements[line] = made
