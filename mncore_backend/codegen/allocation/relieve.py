"""Buffers of a local memory that is too small for all of them, freed from what keeps them out of the other one.

A step cannot read one place of a local memory and write another (SDM 3.6.3), so buffers that meet in a step are kept in
different memories. Where many meet few others, as the parts of concatenations do, one memory overflows beside the
other. What a buffer gives or takes then passes a register:

before:  fvadd $a $x $b
after:   lpassa $a $r ;  fvadd $r $x $b      ($a and $b may share a memory now)
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.codegen.allocation.lifetimes import chain_ranges
from mnc.mncore_backend.codegen.allocation.ports import Ports, conflicts, kind_of, operands_of
from mnc.mncore_backend.program import (
    LOCAL_MEMORY,
    PASSES,
    REGISTER_FILE,
    AnyOperand,
    Buffer,
    BufferOperand,
    MachineOp,
    Program,
)
from mnc.mncore_backend.target import CYCLES_PER_STEP

LONG = 2  # words


@dataclass(slots=True)
class _Detour:
    """What stands for one operation: copies before it (before the chains that it stands in) and behind it."""

    index: int
    changed: MachineOp
    before: list[MachineOp] = field(default_factory=list)
    behind: list[MachineOp] = field(default_factory=list)
    registers: list[Buffer] = field(default_factory=list)


def relieve(program: Program, alive: Iterable[Buffer], surplus: int) -> bool:
    """Rewrite operations so that some of the buffers `alive` in one local memory, `surplus` long words of them at
    least, may be in either. Those go first that few operations use beside others. Returns whether any could be."""
    ranges = _around(chain_ranges(program))
    meeting = _meetings(program, {b for b in alive if b.choices == LOCAL_MEMORY and b.memory is None and not b.pinned})
    ports = Ports(program.operations)
    found: dict[int, _Detour] = {}
    freed = 0
    for buffer, places in sorted(meeting.items(), key=lambda item: (len(item[1]) / item[0].size, item[0].name)):
        if freed >= surplus:
            break
        detours = _detours(program, buffer, places, ranges, ports) if not found.keys() & set(places) else None
        if detours is not None:
            found.update(detours)
            freed += buffer.size
    if found:
        _rewrite(program, found, ranges)
    return bool(found)


def _around(chains: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Of every operation in a chain or between its members: where that begins and ends, chains that overlap together. A
    copy in between would fill the latch that a member reads."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(set(chains.values())):
        if merged and first <= merged[-1][1]:
            first, last = merged[-1][0], max(last, merged.pop()[1])
        merged.append((first, last))
    return {index: (first, last) for first, last in merged for index in range(first, last + 1)}


def _meetings(program: Program, buffers: AbstractSet[Buffer]) -> dict[Buffer, list[int]]:
    """Per buffer the operations in which it must not share a memory with another one."""
    meeting: dict[Buffer, list[int]] = {}
    for index, op in enumerate(program.operations):
        own = {operand.buffer for operand, _ in operands_of(op)} & buffers
        if own:
            pairs = [(conflict.a, conflict.b) for conflict in conflicts([op])]
            apart = {a for pair in pairs for a, b in (pair, pair[::-1]) if kind_of(b) is not REGISTER_FILE}
            for buffer in own & apart:
                meeting.setdefault(buffer, []).append(index)
    return meeting


def _detours(
    program: Program, buffer: Buffer, places: list[int], ranges: dict[int, tuple[int, int]], ports: Ports
) -> dict[int, _Detour] | None:
    """What stands for the operations at `places`; None if one of them needs the buffer itself."""
    made: dict[int, _Detour] = {}
    for index in places:
        first, last = ranges.get(index, (index, index))
        near = [i for i in range(first, last + 1) if _uses(program.operations[i], buffer)]
        detour = _detour(index, program.operations[index], buffer, alone=first == last) if near == [index] else None
        if detour is None:
            return None
        made[index] = detour
    try:
        fits = ports.change(program.operations, {index: detour.changed for index, detour in made.items()})
    except InternalError:
        fits = False
    return made if fits else None


def _uses(op: MachineOp, buffer: Buffer) -> bool:
    return any(operand.buffer is buffer for operand, _ in operands_of(op))


def _detour(index: int, op: MachineOp, buffer: Buffer, *, alone: bool) -> _Detour | None:
    """An operation with registers in the place of a buffer. `alone`: what copies a result follows at once, while a mask
    is as it was."""
    detour = _Detour(index, op)

    def through(operand: AnyOperand, copies: list[MachineOp], *, written: bool) -> AnyOperand:
        if not isinstance(operand, BufferOperand) or operand.buffer is not buffer:
            return operand
        register = Buffer(f"{buffer.name}_passing", CYCLES_PER_STEP, REGISTER_FILE)
        detour.registers.append(register)
        held = BufferOperand(register, tuple(LONG * cycle for cycle in range(CYCLES_PER_STEP)), operand.width)
        place = BufferOperand(buffer, operand.offsets, operand.width, mask=operand.mask)
        ends = (held, place) if written else (place, held)
        copies.append(MachineOp(PASSES[operand.width], ends[:1], ends[1:], location=op.location))
        return operand._replace(buffer=register, offsets=held.offsets, mask=None)

    own = [operand for operand, _ in operands_of(op) if operand.buffer is buffer]
    if any(o.width not in PASSES or o.t_indirect or o.suffix or (o.mask is not None and not alone) for o in own):
        return None
    sources = tuple(through(operand, detour.before, written=False) for operand in op.sources)
    destinations = tuple(through(operand, detour.behind, written=True) for operand in op.destinations)
    detour.changed = MachineOp(
        op.opcode, sources, destinations, op.modifier, op.zero_flush, op.literal, op.size, op.location
    )
    return detour


def _rewrite(program: Program, found: dict[int, _Detour], ranges: dict[int, tuple[int, int]]) -> None:
    before: dict[int, list[MachineOp]] = {}
    behind: dict[int, list[MachineOp]] = {}
    for index, detour in found.items():
        first, last = ranges.get(index, (index, index))
        before.setdefault(first, []).extend(detour.before)
        behind.setdefault(last, []).extend(detour.behind)
        program.buffers += detour.registers
    operations: list[MachineOp] = []
    for index, op in enumerate(program.operations):
        operations += before.get(index, [])
        operations.append(found[index].changed if index in found else op)
        operations += behind.get(index, [])
    program.operations[:] = operations
