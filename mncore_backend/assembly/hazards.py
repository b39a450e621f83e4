"""Distances between statements that the pipeline demands, from the hazard table of the machine.

`required_distance(producer, consumer)` looks at two accesses in program order and gives the smallest number of
statements from the first to the second: to emit, and below which a checker rejects or warns. It covers reads after
writes that the pipeline delays, port conflicts included. `ordering_distance` gives what the meaning of the program
demands besides (reads after writes, writes after reads, writes after writes).
"""

from functools import lru_cache
from typing import NamedTuple

from mnc.mncore_backend.assembly.accesses import Access, Agent, Cycles
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import CYCLES_PER_STEP, Hazard, chip


class Distance(NamedTuple):
    """Statements from producer to consumer (1 = the next one). `emit`: generated code keeps at least this; below
    `reject` the program is wrong; below `warn` it relies on something undocumented (OPEN-47). 0 means no such limit."""

    row: str
    emit: int
    reject: int
    warn: int


_LOCAL = (Memory.LM0, Memory.LM1)
_REGISTERS = (Memory.GRF0, Memory.GRF1)
_BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)
_BASES = (Memory.BAR0, Memory.BAR1)
_L2BM_PAIRS = {(Agent.L2BM_UP, Agent.MV): "1", (Agent.L2BM_UP, Agent.L2BM_DOWN): "2"}
_L1BM_PAIRS = {
    (Agent.L2BM_DOWN, Agent.L2BM_UP): "3",
    (Agent.L2BM_DOWN, Agent.MULTICAST): "3",
    (Agent.MULTICAST, Agent.L2BM_UP): "4",
    (Agent.MULTICAST, Agent.MULTICAST): "4",
    (Agent.MULTICAST, Agent.L1BM_DOWN): "5",
    (Agent.L2BM_DOWN, Agent.L1BM_DOWN): "6",
    (Agent.L1BM_UP, Agent.L2BM_UP): "7",
    (Agent.L1BM_UP, Agent.MULTICAST): "7",
    (Agent.L1BM_UP, Agent.L1BM_DOWN): "8",
}
_MEMORY_ROWS = {
    **dict.fromkeys(_LOCAL, "9a"),
    **dict.fromkeys(_REGISTERS, "9b"),
    Memory.T: "9c",
    Memory.MASK: "9d",
    **dict.fromkeys(_BASES, "9e"),
    **dict.fromkeys(_BANKS, "10"),
    Memory.TURNAROUND: "8t",
}
_PER_ENTRY = (Memory.MASK,)


def hazard_row(producer: Access, consumer: Access) -> str:
    """Row of the hazard table for a write followed by a read, "" if none applies. Addresses are not looked at."""
    if not producer.write or consumer.write:
        return ""
    memory = producer.memory
    if memory is not consumer.memory:
        # A PE->L1BM transfer uses the port also when only the turnaround register keeps its data.
        to_port = memory is Memory.TURNAROUND and consumer.memory is Memory.L1BM
        return "8" if to_port and consumer.agent is Agent.L1BM_DOWN else ""
    if memory is Memory.L1BM:
        return _L1BM_PAIRS.get((producer.agent, consumer.agent), "")
    if memory is Memory.L2BM:
        return _L2BM_PAIRS.get((producer.agent, consumer.agent), "")
    return _MEMORY_ROWS.get(memory, "")


def overlap(first: Access, second: Access) -> bool:
    """Some word is touched by both in an active cycle, in the same instance of the memory."""
    if first.memory is not second.memory or not first.instances & second.instances:
        return False
    return _lag(first.cycles, first.active, second.cycles, second.active) is not None


@lru_cache(1 << 16)
def _lag(written: Cycles, active: int, read: Cycles, read_active: int) -> int | None:
    """Largest (cycle of write - cycle of read) over words shared in active cycles; None if nothing is shared."""
    best: int | None = None
    for w, write_ranges in enumerate(written):
        if not active >> w & 1:
            continue
        for r, read_ranges in enumerate(read):
            if not read_active >> r & 1 or (best is not None and w - r <= best):
                continue
            if any(a < d and c < b for a, b in write_ranges for c, d in read_ranges):
                best = w - r
    return best


def _steps(cycles: int | None, lag: int) -> int:
    """Smallest whole number of statements D with 4 * D - lag >= cycles."""
    return 0 if cycles is None else max(0, -(-(cycles + lag) // CYCLES_PER_STEP))


def required_distance(producer: Access, consumer: Access) -> Distance | None:
    """What the hazard table demands of `consumer` after `producer`; None if the pair is no hazard."""
    row = hazard_row(producer, consumer)
    if not row:
        return None
    hazard: Hazard = chip().hazards[row]
    emit, reject = hazard.emit_steps or 0, hazard.reject_steps or 0
    if row == "8" and producer.memory is Memory.TURNAROUND:
        return Distance(row, emit, 0, emit)  # OPEN-47: stated for transfers that reach L1BM
    if producer.memory in _PER_ENTRY and not overlap(producer, consumer):
        return None
    if hazard.emit_cycles is not None and producer.instances & consumer.instances:
        lag = _lag(producer.cycles, producer.active, consumer.cycles, consumer.active)
        if lag is not None:
            emit = max(emit, _steps(hazard.emit_cycles, lag))
            reject = max(reject, _steps(hazard.reject_cycles, lag))
    if emit == 0 and reject == 0:
        return None
    if row == "9b" and producer.conditional:
        return Distance(row, emit, 0, emit)  # OPEN-47: the vendor's assembler takes reads behind a run-time mask
    return Distance(row, emit, reject, emit if hazard.warn else reject)


def farthest_distances(producer: Access, consumer: Access) -> tuple[int, int]:
    """Bounds of `required_distance(...).emit` whatever the addresses: if no word is shared, and if some are."""
    row = hazard_row(producer, consumer)
    if not row:
        return 0, 0
    hazard = chip().hazards[row]
    steps = hazard.emit_steps or 0
    return steps, max(steps, _steps(hazard.emit_cycles, CYCLES_PER_STEP - 1))


def reuse_distance(read: Access, write: Access) -> int:
    """Statements from a read of PE memory to a write of what has been read. The same step will do, because reads see
    the state before it, unless a later cycle would read what an earlier one has written: row 9b goes by cycles."""
    if read.memory not in _REGISTERS:
        return 0
    lag = _lag(read.cycles, read.active, write.cycles, write.active)
    return int(lag is not None and lag > 0)


def ordering_distance(first: Access, second: Access) -> int | None:
    """Statements that must lie from `first` to `second` (in program order) for the program to mean the same, hazards
    aside: 1 for a read after a write or a write after a write, 0 for a write after a read of PE memory (reads of a
    step see the state before it), 1 for a write after a read elsewhere; None if they share no word or both read."""
    if not (first.write or second.write) or not overlap(first, second):
        return None
    if first.write:
        return 1
    return 1 if first.memory in (Memory.L1BM, Memory.L2BM, Memory.DAR) else 0
