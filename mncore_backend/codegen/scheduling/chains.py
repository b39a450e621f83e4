"""Operations tied together by forwarding latches.

A latch holds a result for exactly one step (SDM 3.6.1.15), so whoever reads it must be issued in the step after its
producer. The producer of a latch operand is the last operation before it in program order that fills this latch.
Operations connected in this way form a chain with a fixed row for each of them.

The turnaround register keeps its value longer, but every PE->L1BM transfer overwrites it. It is treated as a latch
all the same: read in the next step, it restricts no other transfer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import LATCHES, Memory
from mnc.mncore_backend.program import AnyOperand, BufferOperand, MachineOp

TIES = (*LATCHES, Memory.TURNAROUND)
"""What ties the operation that reads it to the one that filled it."""
_LATCH_OF_UNIT = {Unit.ALU: Memory.ALUF, Unit.MAU: Memory.MAUF, Unit.MREAD: Memory.MREADF}


@dataclass(frozen=True, slots=True)
class Chain:
    """`rows[i]` holds indices of the operations that share the i-th step of the chain."""

    rows: tuple[tuple[int, ...], ...]

    @property
    def last(self) -> int:
        """Index of the member that comes last in program order."""
        return max(max(row) for row in self.rows)


def memory_of(operand: AnyOperand) -> Memory:
    """The memory an operand names; for a buffer without an address, the first that it may get."""
    if isinstance(operand, BufferOperand):
        return operand.buffer.memory or operand.buffer.choices[0]
    return operand.memory


def moves_down(op: MachineOp) -> bool:
    """An L1BM or L2BM transfer towards the PEs."""
    return memory_of(op.sources[0]) in (Memory.L1BM, Memory.TURNAROUND, Memory.L2BM) and (
        memory_of(op.destinations[0]) is not Memory.L2BM
    )


def produced_latch(op: MachineOp) -> Memory | None:
    """The forwarding latch that an operation fills, or the turnaround register if that is all it writes."""
    unit = OPCODES[op.opcode].unit
    if unit is Unit.L1BM:
        if moves_down(op):
            return Memory.LBF
        return Memory.TURNAROUND if memory_of(op.destinations[0]) is Memory.TURNAROUND else None
    return _LATCH_OF_UNIT.get(unit)


class _Groups:
    """Union-find over operations with a row offset relative to the root."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._offset: dict[int, int] = {}

    def find(self, member: int) -> tuple[int, int]:
        """Root and row offset from it."""
        path, offset = [], 0
        while self._parent.setdefault(member, member) != member:
            path.append(member)
            member = self._parent[member]
        for node in reversed(path):
            offset += self._offset[node]
            self._parent[node], self._offset[node] = member, offset
        return member, offset

    def tie(self, producer: int, consumer: int) -> bool:
        """Put the consumer one row below the producer; False if they already have other rows."""
        (root, offset), (other, other_offset) = self.find(producer), self.find(consumer)
        if root == other:
            return other_offset == offset + 1
        self._parent[other] = root
        self._offset[other] = offset + 1 - other_offset
        return True

    def members(self) -> dict[int, list[tuple[int, int]]]:
        """Root -> (member, offset) of all its members."""
        groups: dict[int, list[tuple[int, int]]] = {}
        for member in sorted(self._parent):
            root, offset = self.find(member)
            groups.setdefault(root, []).append((member, offset))
        return groups


def find_chains(operations: Sequence[MachineOp]) -> list[Chain]:
    """The chains of a program, in the order of their first members.

    Raises InternalError for a latch that nothing fills, or consumers that cannot all be in the step after their
    producer.
    """
    groups = _Groups()
    last: dict[Memory, int] = {}
    for index, op in enumerate(operations):
        for operand in op.sources:
            if isinstance(operand, BufferOperand) or operand.memory not in TIES:
                continue
            producer = last.get(operand.memory)
            if producer is None:
                raise InternalError(f"operation {index} ({op.opcode}) reads ${operand.memory.value} before any result")
            if not groups.tie(producer, index):
                raise InternalError(f"operation {index} ({op.opcode}) cannot be one step behind all its latch operands")
        latch = produced_latch(op)
        if latch is not None:
            last[latch] = index
    return [_chain(operations, members) for members in groups.members().values()]


def _chain(operations: Sequence[MachineOp], members: list[tuple[int, int]]) -> Chain:
    first = min(offset for _, offset in members)
    rows: list[list[int]] = [[] for _ in range(max(offset for _, offset in members) - first + 1)]
    for member, offset in members:
        rows[offset - first].append(member)
    for row in rows:
        latches = [produced_latch(operations[i]) for i in row]
        if len({latch for latch in latches if latch}) < sum(latch is not None for latch in latches):
            names = ", ".join(f"{i} ({operations[i].opcode})" for i in row)
            raise InternalError(f"operations {names} must share a step because of their latches, but use one unit")
    return Chain(tuple(tuple(row) for row in rows))
