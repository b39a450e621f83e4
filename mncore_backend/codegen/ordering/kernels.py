"""Kernels: runs of operations that stay together, and how long they take."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mnc.mncore_backend.assembly.records import Memory, Operand, Transfer
from mnc.mncore_backend.codegen.scheduling.timeline import Port, TransferTiming, timing_of
from mnc.mncore_backend.program import AnyOperand, BufferOperand, MachineOp

_LATENCY = 2  # steps from a result to its use, in most units
Region = tuple[int, int, int | None]
"""Long words from..to of a buffer in L2BM, and of which half of every group (None: of both)."""


def apart(one: Region | None, other: Region | None) -> bool:
    """Whether two parts of a buffer have nothing in common."""
    if one is None or other is None:
        return False
    halves = one[2] is not None and other[2] is not None and one[2] != other[2]
    return halves or one[1] <= other[0] or other[1] <= one[0]


@dataclass(eq=False, slots=True)
class Kernel:
    """A run of operations that stays together.

    duration    steps from its first operation to its last result, alone
    data_steps  those of them in which MVs occupy their memories
    ports       the sides of memories that they occupy
    sources     those of them that MVs read
    urgency     steps from its start to the end of the program at least
    start       when the simulation starts it, not before `not_before`; given if it `is_fixed`
    """

    operations: Sequence[MachineOp]
    duration: int
    uses_banks: bool
    data_steps: int
    ports: frozenset[Port]
    sources: frozenset[Port]
    before: set["Kernel"] = field(default_factory=set)
    after: set["Kernel"] = field(default_factory=set)
    urgency: int = 0
    start: int = -1
    not_before: int = 0
    is_fixed: bool = False

    @property
    def region(self) -> Region | None:
        """What a single MV writes of a buffer in L2BM; None for anything else."""
        op = self.operations[0]
        target = op.destinations[0] if len(self.operations) == 1 and op.is_transfer else None
        if not isinstance(target, BufferOperand) or target.group is not None:
            return None
        if target.buffer.choices[0] is not Memory.L2BM:
            return None
        return target.offsets[0], target.offsets[0] + op.size, target.l2b


def kernel_of(run: Sequence[MachineOp]) -> Kernel:
    """The kernel of a run of operations."""
    operands = [o for op in run for o in (*op.sources, *op.destinations)]
    banks = any(isinstance(o, Operand) and o.memory in (Memory.MATRIX_X, Memory.MATRIX_Y) for o in operands)
    moves = [(op, transfer_timing(op)) for op in run if op.is_transfer]
    ports = frozenset(port for _, timing in moves for port in timing.ports)
    sources = frozenset(port for op, timing in moves for port in timing.ports if port[0] is _memory(op.sources[0]))
    steps = sum(timing.data_steps for _, timing in moves)
    return Kernel(run, duration_of(run), banks, steps, ports, sources - {port for port in sources if port[2]})


def _memory(operand: AnyOperand) -> Memory:
    return operand.buffer.choices[0] if isinstance(operand, BufferOperand) else operand.memory


def _places(operands: Sequence[AnyOperand]) -> list[object]:
    """What operations depend on each other through: accesses to buffers, latches, banks."""
    return [(o.buffer, o.offsets) if isinstance(o, BufferOperand) else o.memory for o in operands]


def transfer_of_buffers(op: MachineOp) -> Transfer:
    """An MV with offsets into buffers in the place of addresses, which nobody knows yet."""
    ends = []
    for operand in (op.sources[0], op.destinations[0]):
        if isinstance(operand, BufferOperand):
            memory, address = operand.buffer.choices[0], operand.offsets[0]
            ends.append(Operand(memory, operand.width, address, group=operand.group, l2b=operand.l2b))
        else:
            ends.append(operand)
    return Transfer(op.opcode, op.size, *ends)


def transfer_timing(op: MachineOp) -> TransferTiming:
    """How long an MV occupies which memories, which does not depend on addresses."""
    return timing_of(transfer_of_buffers(op))


def duration_of(run: Sequence[MachineOp]) -> int:
    """Steps of a run: the longest chain of results, or the busiest unit."""
    ready: dict[object, int] = {}
    busy: dict[str, int] = {}
    end = moving = 0
    for op in run:
        kind = op.opcode[:3]
        start = max([0, *(ready.get(place, 0) for place in _places(op.sources))])
        steps = _LATENCY
        busy[kind] = busy.get(kind, 0) + 1
        if op.is_transfer:
            steps = transfer_timing(op).duration
            start = max(start, moving)
            moving = start + transfer_timing(op).data_steps
        end = max(end, start + steps, busy[kind])
        for place in _places(op.destinations):
            ready[place] = max(ready.get(place, 0), start + steps)
    return end
