"""When buffers live, and which of them must not share a memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, MachineOp, Program
from mnc.mncore_backend.scheduling.chains import find_chains


@dataclass(eq=False, slots=True)
class Life:
    """First and last use of a buffer (indices of operations), and what restricts its memory.

    apart   buffers that must be in another memory
    away    buffers that must not be in the same LM (a step that reads an LM writes it at the same addresses only)
    """

    buffer: Buffer
    first: int
    last: int
    choices: tuple[Memory, ...]
    apart: dict["Life", int] = field(default_factory=dict)
    away: dict["Life", int] = field(default_factory=dict)

    def overlaps(self, other: "Life") -> bool:
        """Both hold something at the same time. In PE memory a buffer last read by the operation that first writes
        another may give it its place: reads see the state before the step."""
        if not self.buffer.is_pe_memory:
            return self.first <= other.last and other.first <= self.last
        return (self.first < other.last and other.first < self.last) or self.first == other.first

    def allows(self, memory: Memory, taken: dict["Life", Memory]) -> bool:
        """The memory is a choice, and no buffer already placed forbids it."""
        return (
            memory in self.choices
            and all(taken.get(other) is not memory for other in self.apart)
            and (memory not in LOCAL_MEMORY or all(taken.get(other) is not memory for other in self.away))
        )


def operands_of(op: MachineOp) -> Iterator[tuple[BufferOperand, bool]]:
    """Buffer operands and whether they are written."""
    for operand in op.sources:
        if isinstance(operand, BufferOperand):
            yield operand, False
    for operand in op.destinations:
        if isinstance(operand, BufferOperand):
            yield operand, True


def lives_of(program: Program, *, pinned_first: bool) -> list[Life]:
    """Lives of all buffers that are used or pinned, pinned ones first if wanted, then by first use.

    A chain counts as one operation: its members are issued together.
    """
    end = len(program.operations)
    chained = _chain_ranges(program)
    lives: dict[Buffer, Life] = {}
    for index, op in enumerate(program.operations):
        first, last = chained.get(index, (index, index))
        for operand, _ in operands_of(op):
            buffer = operand.buffer
            life = lives.get(buffer)
            if life is None:
                life = lives[buffer] = Life(buffer, first, last, _choices(buffer))
            life.first, life.last = min(life.first, first), max(life.last, last)
    for buffer in program.buffers:
        if buffer.pinned:
            lives[buffer] = Life(buffer, -1, end, _choices(buffer))
    order = {buffer: i for i, buffer in enumerate(program.buffers)}
    result = sorted(lives.values(), key=lambda l: (l.first, order.get(l.buffer, end)))
    if pinned_first:
        result.sort(key=lambda l: not l.buffer.pinned)
    _find_conflicts(program, lives)
    return result


def _choices(buffer: Buffer) -> tuple[Memory, ...]:
    return (buffer.memory,) if buffer.memory is not None else buffer.choices


def _chain_ranges(program: Program) -> dict[int, tuple[int, int]]:
    ranges = {}
    for chain in find_chains(program.operations):
        members = [i for row in chain.rows for i in row]
        ranges.update(dict.fromkeys(members, (min(members), max(members))))
    return ranges


def _find_conflicts(program: Program, lives: dict[Buffer, Life]) -> None:
    """Fill `apart` and `away` from the operands that meet in one step."""
    operations = program.operations
    rows = [[operations[i] for i in row] for chain in find_chains(operations) for row in chain.rows if len(row) > 1]
    rows += [[op] for op in operations]
    for ops in rows:
        if ops[0].is_transfer:
            continue
        reads = [o for op in ops for o, written in operands_of(op) if not written and o.buffer.is_pe_memory]
        writes = [o for op in ops for o, written in operands_of(op) if written and o.buffer.is_pe_memory]
        if len(reads) + len(writes) < 2 and not any(op.literal or o.t_indirect for op in ops for o in reads + writes):
            continue
        _separate(ops, reads, writes, lives)
        for operand in (*reads, *writes):
            life = lives[operand.buffer]
            if operand.t_indirect:
                life.choices = _only(life, (Memory.LM0,), "is accessed through T, which LM0 alone allows")
            if any(op.literal is not None for op in ops):
                kept = tuple(m for m in life.choices if m is not Memory.LM0)
                life.choices = _only(life, kept, "meets an immediate, which excludes LM0")


def _only(life: Life, memories: tuple[Memory, ...], why: str) -> tuple[Memory, ...]:
    kept = tuple(m for m in life.choices if m in memories)
    if not kept:
        raise InternalError(f"buffer {life.buffer.name} {why}, but it may live in {_names(life.choices)} only")
    return kept


def _names(memories: Sequence[Memory]) -> str:
    return ", ".join(m.name for m in memories)


def _same_place(a: BufferOperand, b: BufferOperand) -> bool:
    return a.offsets == b.offsets and a.width == b.width and a.t_indirect == b.t_indirect


def _separate(
    ops: list[MachineOp], reads: list[BufferOperand], writes: list[BufferOperand], lives: dict[Buffer, Life]
) -> None:
    """One address per memory read, one write per memory, and no LM read and written at different addresses."""
    name = " with ".join(op.opcode for op in ops)
    for i, a in enumerate(reads):
        for b in reads[i + 1 :]:
            if a.buffer is b.buffer:
                if not _same_place(a, b):
                    raise InternalError(f"{name} reads buffer {a.buffer.name} at two places in one step")
                continue
            lives[a.buffer].apart[lives[b.buffer]] = 1
            lives[b.buffer].apart[lives[a.buffer]] = 1
    for i, a in enumerate(writes):
        for b in writes[i + 1 :]:
            if a.buffer is b.buffer:
                raise InternalError(f"{name} writes buffer {a.buffer.name} twice in one step")
            lives[a.buffer].apart[lives[b.buffer]] = 1
            lives[b.buffer].apart[lives[a.buffer]] = 1
        for b in reads:
            if a.buffer is not b.buffer:
                lives[a.buffer].away[lives[b.buffer]] = 1
                lives[b.buffer].away[lives[a.buffer]] = 1
            elif not _same_place(a, b):
                life = lives[a.buffer]
                kept = tuple(m for m in life.choices if m not in LOCAL_MEMORY)
                life.choices = _only(life, kept, f"is read and written at different addresses by {name}")
