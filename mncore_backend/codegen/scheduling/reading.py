"""Operations as the scheduler reads them: what each needs of its step and which operations come before it.

None of that depends on the schedule. A program that is scheduled several times is read once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Memory, Operand, Transfer
from mnc.mncore_backend.codegen.scheduling.chains import Chain, find_chains
from mnc.mncore_backend.codegen.scheduling.dependence import Dependences
from mnc.mncore_backend.codegen.scheduling.graph import Node
from mnc.mncore_backend.codegen.scheduling.timeline import timing_of
from mnc.mncore_backend.codegen.scheduling.touches import Touch, describe, narrowed, transfer_touches
from mnc.mncore_backend.program import BufferOperand, MachineOp

_CONTROL = (Unit.NOP, Unit.NOFORWARD, Unit.WAIT)
Before = list[tuple[Node, int, int]]
"""Operations that come before one: distances in steps, and those that would do if latches delivered what they can."""


class Source(Protocol):
    """Gives the operations of a program one after the other. `chains`: which of them belong to a chain."""

    chains: dict[int, Chain]

    def read(self, index: int) -> tuple[Node, Before]:
        """The operation of this index, which is that of the last call plus one."""
        ...


class Stream:
    """Reads a program and forgets what nothing that follows depends on."""

    def __init__(self, operations: Sequence[MachineOp]) -> None:
        self._operations = operations
        self._dependences = Dependences(moving_memories(operations))
        self._resolved: dict[BufferOperand, Operand] = {}
        self.chains = {i: c for c in find_chains(operations) for row in c.rows for i in row}

    def read(self, index: int) -> tuple[Node, Before]:
        """See `Source`."""
        node, touches = _make_node(index, self._operations[index], self._resolved)
        found = self._dependences.add(node, touches)
        return node, [(before, distance, found.sooner[before]) for before, distance in found.steps.items()]


@dataclass(frozen=True, slots=True)
class _Read:
    """An operation as it was read, with the indices of those that come before it and of those that a latch could
    deliver."""

    node: Node
    before: tuple[tuple[int, int, int], ...]
    forwards: tuple[tuple[int, Memory, Memory], ...]


class Reading:
    """A program that has been read to its end."""

    def __init__(self, operations: Sequence[MachineOp]) -> None:
        stream = Stream(operations)
        self.chains = stream.chains
        self.operations: list[_Read] = []
        for index in range(len(operations)):
            node, before = stream.read(index)
            forwards = tuple((other.index, memory, latch) for other, memory, latch in node.forwards)
            earlier = tuple((other.index, distance, sooner) for other, distance, sooner in before)
            self.operations.append(_Read(node, earlier, forwards))

    def again(self) -> Source:
        """The program from its start."""
        return _Again(self)


class _Again:
    def __init__(self, reading: Reading) -> None:
        self._operations = reading.operations
        self._nodes: list[Node] = []
        self.chains = reading.chains

    def read(self, index: int) -> tuple[Node, Before]:
        known, nodes = self._operations[index], self._nodes
        old = known.node
        node = Node(index, old.op, old.expression, old.transfer, old.needs, old.timing)
        node.forwards = [(nodes[i], memory, latch) for i, memory, latch in known.forwards]
        nodes.append(node)
        return node, [(nodes[i], distance, sooner) for i, distance, sooner in known.before]


def _upper(operand: object) -> Operand:
    resolved = operand.resolve() if isinstance(operand, BufferOperand) else operand
    assert isinstance(resolved, Operand)
    return resolved


def transfer_of(op: MachineOp) -> Transfer:
    """The MV of an operation, without a tag."""
    return Transfer(op.opcode, op.size, _upper(op.sources[0]), _upper(op.destinations[0]))


def moving_memories(operations: Sequence[MachineOp]) -> frozenset[Memory]:
    """Local memories whose base register is written."""
    names = {Memory.BAR0: Memory.BAR0, Memory.BAR1: Memory.BAR1}
    return frozenset(
        names[o.memory]
        for op in operations
        for o in op.destinations
        if not isinstance(o, BufferOperand) and o.memory in names
    )


def _make_node(
    index: int, op: MachineOp, known: dict[BufferOperand, Operand]
) -> tuple[Node, tuple[Touch, ...]]:
    if op.is_transfer:
        transfer = transfer_of(op)
        return Node(index, op, transfer=transfer, timing=timing_of(transfer)), transfer_touches(transfer)
    info = OPCODES.get(op.opcode)
    if info is None or info.unit in _CONTROL:
        raise InternalError(f"operation {index}: {op.opcode} is not for generators to emit")
    expression = op.resolve(known)
    needs, touches = describe(expression)
    return Node(index, op, expression, needs=needs), narrowed(touches, op)
