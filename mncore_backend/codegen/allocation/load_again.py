"""Data that wait in an upper memory for their turn make room and are loaded again, where a memory would overflow.

Loads start ahead of their use, and several tensors share one transfer, so data may wait in L2BM while larger tensors
pass. What came from DRAM by MVs alone can come a second time: the wait ends at its last use before the crowded moment,
and a copy of the transfers stands before its next use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation.lifetimes import Life, operands_of
from mnc.mncore_backend.codegen.allocation.pack import pack
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, MachineOp, Program
from mnc.mncore_backend.target import chip

Uses = dict[Buffer, list[tuple[int, bool]]]  # indices of operations, and whether they write


def load_again(program: Program, memory: Memory = Memory.L2BM) -> bool:
    """Shorten the waits in `memory`, which all copies of a program share alike, until its buffers fit; whether there
    were any to shorten.

    Changes `program` in place; where nothing that waits came from DRAM alone, the overflow is left to `allocate`, which
    names the buffers.
    """
    capacity = chip().memories[memory].longs
    is_changed = False
    while True:
        uses = _uses(program, memory)
        if pack(_lives(uses), capacity) is not None or not _relieve(program, uses):
            return is_changed
        is_changed = True


def _uses(program: Program, memory: Memory) -> Uses:
    found: Uses = {}
    for index, op in enumerate(program.operations):
        for operand, written in operands_of(op):
            if operand.buffer.choices[0] is memory:
                found.setdefault(operand.buffer, []).append((index, written))
    return found


def _lives(uses: Uses) -> list[Life]:
    return [Life(buffer, at[0][0], at[-1][0], buffer.choices) for buffer, at in uses.items()]


def _filling(uses: Uses, count: int) -> np.ndarray:
    """Long words alive at each operation."""
    change = np.zeros(count + 1, np.int64)
    for buffer, at in uses.items():
        change[at[0][0]] += buffer.size
        change[at[-1][0] + 1] -= buffer.size
    return np.cumsum(change)[:count]


def _relieve(program: Program, uses: Uses) -> bool:
    """End one wait over the most crowded moment at which something waits that may be loaded again."""
    written = {o.buffer for op in program.operations for o, w in operands_of(op) if w}
    filling = _filling(uses, len(program.operations))
    for moment in sorted((at[0][0] for at in uses.values()), key=lambda moment: -filling[moment]):
        waiting = [w for w in _waits(uses, moment) if _from_dram(program, w[1], written)]
        if waiting:
            buffer, loads, after = max(waiting, key=lambda w: (w[0].size, w[2] - w[1][-1]))
            _split(program, buffer, loads, after)
            return True
    return False


def _waits(uses: Uses, moment: int) -> Iterator[tuple[Buffer, list[int], int]]:
    """Buffers alive but not in use at a moment and complete before it: their writes, and their first use after it."""
    for buffer, at in uses.items():
        if not at[0][0] < moment < at[-1][0] or buffer.pinned:
            continue
        after = next(i for i, _ in at if i >= moment)
        writes = [i for i, w in at if w]
        if after > moment and writes and writes[-1] < moment:
            yield buffer, writes, after


def _from_dram(program: Program, loads: Sequence[int], written: set[Buffer]) -> bool:
    """Transfers whose sources are in DRAM and never change."""
    sources = [source for i in loads for source in program.operations[i].sources]
    return all(
        isinstance(s, BufferOperand) and s.buffer.choices[0] is Memory.DRAM and s.buffer not in written for s in sources
    )


def _split(program: Program, buffer: Buffer, loads: Sequence[int], after: int) -> None:
    """Uses from operation `after` on go to a copy of the buffer, filled by copies of the loads right before; loads
    whose data nobody reads earlier are dropped."""
    copy = program.buffer("again", buffer.size, buffer.choices, alignment=buffer.alignment)

    def moved(operand: AnyOperand) -> AnyOperand:
        if not isinstance(operand, BufferOperand) or operand.buffer is not buffer:
            return operand
        return operand._replace(buffer=copy)

    def with_copy(op: MachineOp) -> MachineOp:
        return replace(op, sources=tuple(map(moved, op.sources)), destinations=tuple(map(moved, op.destinations)))

    old = program.operations
    read_before = any(o.buffer is buffer and not w for op in old[:after] for o, w in operands_of(op))
    kept = [op for i, op in enumerate(old[:after]) if read_before or i not in loads]
    program.operations = [*kept, *(with_copy(old[i]) for i in loads), *map(with_copy, old[after:])]
