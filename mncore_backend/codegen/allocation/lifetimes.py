"""When buffers live, and which of them must not share a memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.codegen.allocation.ports import Conflict, conflicts, operands_of, restricted, rows_of
from mnc.mncore_backend.codegen.scheduling.chains import Chain, find_chains
from mnc.mncore_backend.program import LOCAL_MEMORY, AnyOperand, Buffer, BufferOperand, MachineOp, Program


@dataclass(eq=False, slots=True)
class Life:
    """First and last use of a buffer (indices of operations), and what restricts its memory.

    apart   buffers that must be in another memory
    away    buffers that must not be in the same LM (a step that reads an LM writes it at the same addresses only)
    meets   buffers that had better not be: the one arrives when the other is likely to be read, and how much of what is
            read then it is
    shares  the same for sums of a product and the matrices of it: the part of the products that read or write the sums
    is_sum  products read or write it as sums
    """

    buffer: Buffer
    first: int
    last: int
    choices: tuple[Memory, ...]
    apart: dict["Life", int] = field(default_factory=dict)
    away: dict["Life", int] = field(default_factory=dict)
    meets: dict["Life", float] = field(default_factory=dict)
    shares: dict["Life", float] = field(default_factory=dict)
    is_sum: bool = False

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


def lives_of(program: Program, *, pinned_first: bool, chains: Sequence[Chain] | None = None) -> list[Life]:
    """Lives of all buffers that are used or pinned, pinned ones first if wanted, then by first use.

    A chain counts as one operation: its members are issued together. `chains` are those of the program, if somebody has
    found them.
    """
    end = len(program.operations)
    chains = find_chains(program.operations) if chains is None else chains
    chained = _ranges(chains)
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
    _find_conflicts(program, chains, lives)
    _find_meetings(program, lives)
    _find_sums(program, lives)
    return result


AHEAD = 512
"""Operations by which transfers into the PEs run ahead: those that are computed while they arrive."""


def _find_meetings(program: Program, lives: dict[Buffer, Life]) -> None:
    """Fill `meets`: a local memory that a transfer writes is not read in the steps after that."""
    reads: list[list[Life]] = []
    arrivals: dict[Life, tuple[int, int]] = {}
    for index, op in enumerate(program.operations):
        moves = not op.is_transfer and OPCODES[op.opcode].unit is Unit.L1BM
        own = [o for o in op.sources if isinstance(o, BufferOperand) and o.buffer.choices == LOCAL_MEMORY]
        reads.append([lives[o.buffer] for o in own])
        for operand in op.destinations if moves else ():
            if isinstance(operand, BufferOperand) and operand.buffer.choices == LOCAL_MEMORY:
                life = lives[operand.buffer]
                arrivals[life] = arrivals.get(life, (index, index))[0], index
    for life, (first, last) in arrivals.items():
        near = Counter(other for own in reads[max(0, first - AHEAD) : last] for other in own if other is not life)
        for other, count in near.items():
            share = count / near.total()
            life.meets[other] = other.meets[life] = max(share, life.meets.get(other, 0.0))


def _find_sums(program: Program, lives: dict[Buffer, Life]) -> None:
    """Fill `shares`: while products read or write sums in a local memory, no matrix can be read from it, and banks hold
    only one ahead."""
    matrix: Life | None = None
    converted: Life | None = None
    products: Counter[Life] = Counter()
    common: Counter[tuple[Life, Life]] = Counter()
    for op in program.operations:
        unit = None if op.is_transfer else OPCODES[op.opcode].unit
        if unit is Unit.ALU:
            converted = _local(op.sources, lives)
        elif unit is Unit.MWRITE:
            matrix = _local(op.sources, lives) or converted
        elif matrix is not None and any(_is_bank(source) for source in op.sources):
            products[matrix] += 1
            sums = {_local(op.sources, lives), _local(op.destinations, lives)} - {None, matrix}
            common.update((own, matrix) for own in sums if own is not None)
    for (sums, other), count in common.items():
        sums.shares[other] = other.shares[sums] = count / products[other]
        sums.is_sum = True


def _local(operands: Iterable[AnyOperand], lives: dict[Buffer, Life]) -> Life | None:
    """The buffer among some operands that lives in a local memory."""
    found = (o.buffer for o in operands if isinstance(o, BufferOperand) and o.buffer.choices == LOCAL_MEMORY)
    return next((lives[buffer] for buffer in found), None)


def _is_bank(operand: AnyOperand) -> bool:
    return isinstance(operand, Operand) and operand.memory in (Memory.MATRIX_X, Memory.MATRIX_Y)


def _choices(buffer: Buffer) -> tuple[Memory, ...]:
    return (buffer.memory,) if buffer.memory is not None else buffer.choices


def chain_ranges(program: Program) -> dict[int, tuple[int, int]]:
    """Of every operation in a chain: the first and the last index of its members."""
    return _ranges(find_chains(program.operations))


def _ranges(chains: Iterable[Chain]) -> dict[int, tuple[int, int]]:
    ranges: dict[int, tuple[int, int]] = {}
    for chain in chains:
        members = [i for row in chain.rows for i in row]
        ranges.update(dict.fromkeys(members, (min(members), max(members))))
    return ranges


def _find_conflicts(program: Program, chains: Iterable[Chain], lives: dict[Buffer, Life]) -> None:
    """Fill `apart` and `away` from the operands that meet in one step."""
    known: set[Conflict] = set()  # a loop has the same ones in every iteration
    for row in rows_of(program.operations, chains):
        ops = [program.operations[i] for i in row]
        for conflict in conflicts(ops):
            if conflict not in known:
                known.add(conflict)
                _separate(ops, lives[conflict.a], lives[conflict.b], local=conflict.local)
        if ops[0].is_transfer:
            continue
        has_literal = any(op.literal is not None for op in ops)
        for operand in (operand for op in ops for operand, _ in operands_of(op)):
            is_free = not (has_literal or operand.t_indirect) or not operand.buffer.is_pe_memory
            away = None if is_free else restricted(ops, operand)
            if away is not None:
                life = lives[operand.buffer]
                life.choices = _without(life, away[0], away[1])


def _without(life: Life, memories: Sequence[Memory], why: str) -> tuple[Memory, ...]:
    kept = tuple(m for m in life.choices if m not in memories)
    if not kept:
        raise InternalError(f"buffer {life.buffer.name} {why}, but it may live in {_names(life.choices)} only")
    return kept


def _names(memories: Sequence[Memory]) -> str:
    return ", ".join(m.name for m in memories)


def _separate(ops: Sequence[MachineOp], a: Life, b: Life, *, local: bool) -> None:
    if a is b:
        name = " with ".join(op.opcode for op in ops)
        a.choices = _without(a, LOCAL_MEMORY, f"is read and written at different addresses by {name}")
    elif local:
        a.away[b] = b.away[a] = 1
    else:
        a.apart[b] = b.apart[a] = 1
