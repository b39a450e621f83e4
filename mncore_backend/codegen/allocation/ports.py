"""Which buffers must not share a memory, because operands of theirs meet in one step.

A step reads one address per memory and writes one; a step that reads an LM writes it at the same addresses only (SDM
3.6.4). Register files may be read and written at different addresses.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.scheduling.chains import Chain, find_chains
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer, BufferOperand, MachineOp


class Conflict(NamedTuple):
    """`a` and `b` must be in different memories, or, `local`, must not be in the same LM. `a` is `b`: it must not be in
    an LM at all."""

    a: Buffer
    b: Buffer
    local: bool = False


def operands_of(op: MachineOp) -> Iterator[tuple[BufferOperand, bool]]:
    """Buffer operands and whether they are written."""
    for operand in op.sources:
        if isinstance(operand, BufferOperand):
            yield operand, False
    for operand in op.destinations:
        if isinstance(operand, BufferOperand):
            yield operand, True


def rows_of(operations: Sequence[MachineOp], chains: Iterable[Chain]) -> Iterator[tuple[int, ...]]:
    """Indices of the operations that certainly share a step: rows of latch chains, and every operation alone."""
    for chain in chains:
        for row in chain.rows:
            if len(row) > 1:
                yield row
    for index in range(len(operations)):
        yield (index,)


def conflicts(ops: Sequence[MachineOp]) -> Iterable[Conflict]:
    """Conflicts between the PE buffers of operations that share a step.

    Raises:
        InternalError: one buffer is read at two places or written twice.
    """
    if len(ops) > 1:
        return _conflicts(ops)
    if ops[0].meetings is None:
        ops[0].meetings = tuple(_conflicts(ops))
    return cast("tuple[Conflict, ...]", ops[0].meetings)


def _conflicts(ops: Sequence[MachineOp]) -> Iterator[Conflict]:
    if ops[0].is_transfer:
        return
    reads = [o for op in ops for o in op.sources if isinstance(o, BufferOperand) and o.buffer.is_pe_memory]
    writes = [o for op in ops for o in op.destinations if isinstance(o, BufferOperand) and o.buffer.is_pe_memory]
    if len(reads) + len(writes) < 2:
        return
    for i, a in enumerate(reads):
        for b in reads[i + 1 :]:
            if a.buffer is not b.buffer:
                yield Conflict(a.buffer, b.buffer)
            elif not _same_place(a, b):
                raise InternalError(f"{_names(ops)} reads buffer {a.buffer.name} at two places in one step")
    for i, a in enumerate(writes):
        for b in writes[i + 1 :]:
            if a.buffer is b.buffer:
                raise InternalError(f"{_names(ops)} writes buffer {a.buffer.name} twice in one step")
            yield Conflict(a.buffer, b.buffer)
        for b in reads:
            if a.buffer is not b.buffer or not _same_place(a, b):
                yield Conflict(a.buffer, b.buffer, local=True)


def _names(ops: Sequence[MachineOp]) -> str:
    return " with ".join(op.opcode for op in ops)


def _same_place(a: BufferOperand, b: BufferOperand) -> bool:
    return a.offsets == b.offsets and a.width == b.width and a.t_indirect == b.t_indirect


def restricted(ops: Sequence[MachineOp], operand: BufferOperand) -> tuple[tuple[Memory, ...], str] | None:
    """Memories that `operand` of these operations must not be in, and why; None if there are none."""
    if operand.t_indirect:
        return tuple(m for m in (*LOCAL_MEMORY, *REGISTER_FILE) if m is not Memory.LM0), (
            "is accessed through T, which LM0 alone allows"
        )
    if any(op.literal is not None for op in ops):
        return (Memory.LM0,), "meets an immediate, which excludes LM0"
    return None


_Key = tuple[Buffer, tuple[Memory, Memory]] | Memory
"""A buffer as long as it lives in one of these two, or one of them."""


@dataclass(slots=True)
class TwoMemories:
    """Keeps the conflicts solvable: within LM0/LM1, and within GRF0/GRF1, they are a graph to be coloured with two
    colours, held as a union-find with parities (R. Tarjan, 1975). Buffers with any other choice are not followed."""

    parent: dict[_Key, tuple[_Key, int]] = field(default_factory=dict)

    def _find(self, key: _Key) -> tuple[_Key, int]:
        parity = 0
        while key in self.parent:
            key, step = self.parent[key]
            parity ^= step
        return key, parity

    def relate(self, a: _Key, b: _Key, parity: int) -> list[_Key] | None:
        """Let `a` and `b` differ (parity 1) or agree (0). Returns the roots that have got a parent, None if it
        contradicts what is known."""
        (x, px), (y, py) = self._find(a), self._find(b)
        if x == y:
            return [] if px ^ py == parity else None
        self.parent[x] = (y, px ^ py ^ parity)
        return [x]

    def forget(self, roots: Iterable[_Key]) -> None:
        """Take back what `relate` did, latest first."""
        for root in reversed(list(roots)):
            del self.parent[root]

    def fix(self, buffer: Buffer, memories: tuple[Memory, ...]) -> None:
        """`buffer` may live in `memories` only."""
        kind = kind_of(buffer)
        if kind is not None and len(memories) == 1:
            self.relate((buffer, kind), kind[0], int(memories[0] is kind[1]))

    def add(self, found: Iterable[Conflict]) -> list[_Key] | None:
        """Take in conflicts. Returns what to `forget` if they are to be taken back, None if they cannot be met."""
        trail: list[_Key] = []
        for conflict in found:
            a, b = kind_of(conflict.a), kind_of(conflict.b)
            if a is None or b is None:
                roots = None
            elif a is not b or (conflict.local and a is REGISTER_FILE):
                continue
            elif conflict.a is conflict.b:
                roots = None
            else:
                roots = self.relate((conflict.a, a), (conflict.b, b), 1)
            if roots is None:
                self.forget(trail)
                return None
            trail += roots
        return trail


def kind_of(buffer: Buffer) -> tuple[Memory, Memory] | None:
    """The pair of memories a buffer lives in: `LOCAL_MEMORY`, `REGISTER_FILE`, or None if it may be in either."""
    choices = (buffer.memory,) if buffer.memory is not None else buffer.choices
    for kind in (LOCAL_MEMORY, REGISTER_FILE):
        if all(memory in kind for memory in choices):
            return kind
    return None


class Ports:
    """The conflicts of a program, to try further destinations of its operations."""

    def __init__(self, operations: Sequence[MachineOp], chains: Iterable[Chain] | None = None) -> None:
        """`chains` are those of the operations, if somebody has found them."""
        self._memories = TwoMemories()
        self._rows: dict[int, tuple[int, ...]] = {}
        known: set[Conflict] = set()  # a loop has the same ones in every iteration
        restrictions: set[tuple[Buffer, bool, bool]] = set()
        for row in rows_of(operations, find_chains(operations) if chains is None else chains):
            ops = [operations[i] for i in row]
            for index in row:
                self._rows.setdefault(index, row)
            for conflict in conflicts(ops):
                if conflict not in known:
                    known.add(conflict)
                    self._memories.add([conflict])
            if not ops[0].is_transfer:
                self._restrict(ops, restrictions)

    def _restrict(self, ops: Sequence[MachineOp], known: set[tuple[Buffer, bool, bool]]) -> None:
        """Note what restricts the operands of a row; `known` is what does already."""
        has_literal = any(op.literal is not None for op in ops)
        for operand, _ in (own for op in ops for own in operands_of(op)):
            buffer = operand.buffer
            if (key := (buffer, operand.t_indirect, has_literal)) in known or not buffer.is_pe_memory:
                continue
            known.add(key)
            choices = (buffer.memory,) if buffer.memory is not None else buffer.choices
            away = restricted(ops, operand)
            if away is not None or len(choices) == 1:
                self._memories.fix(buffer, choices if away is None else tuple(m for m in choices if m not in away[0]))

    def change(
        self, operations: Sequence[MachineOp | None], changed: Mapping[int, MachineOp], *, gone: int = -1
    ) -> bool:
        """Whether the program may do without operation `gone` and have the `changed` ones instead of those at their
        indices; notes their conflicts if so."""
        trail: list[_Key] = []
        for row in dict.fromkeys(self._rows[index] for index in changed):
            ops = [op for i in row if i != gone and (op := changed.get(i, operations[i])) is not None]
            try:
                roots = self._memories.add(conflicts(ops))
            except InternalError:
                roots = None
            if roots is None:
                self._memories.forget(trail)
                return False
            trail += roots
        return True
