"""Copy coalescing: who computes a value writes it where a copy would have brought it.

Kernels are made one by one, so a value that one kernel stores is copied into a register by the next one, and a result
that a kernel may not write directly is copied at its end. An operation may have any number of destinations within the
write ports of the memories (SDM 3.6.1), so the copy becomes one more destination of its producer:

before:  fvadd $x $y $a ;  ipassa $a $b ;  ... reads $b ...
after:   fvadd $x $y $b ;                  ... reads $b ...   (and $a, where somebody else reads it)

A transfer into the PEs has one destination: it writes the target instead if nobody else reads what it brings. A copy
stays where the target is in use between producer and copy, or where no choice of memories would serve the ports of the
producer.
"""

from collections.abc import Sequence
from dataclasses import replace

from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import LATCHES, Mask, Memory, Operand
from mnc.mncore_backend.codegen.allocation.ports import Ports
from mnc.mncore_backend.codegen.coalescing.values import DefUse, Value, plain, same_access
from mnc.mncore_backend.codegen.scheduling.chains import produced_latch
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, MachineOp, Program

COPIES = {"ipassa": Memory.ALUF, "lpassa": Memory.ALUF, "fvpassa": Memory.MAUF}
"""Operations that move words, and the latch they fill. ``fvpassa`` brings floats into normal form, which results of
other vector operations of the MAU have."""

NEAR = 256
"""Operations between producer and copy at most: the target is in use from the producer on, and registers are few."""


def coalesce_copies(program: Program) -> int:
    """Rewrite the operations of `program`; returns how many copies are gone."""
    return _Coalescer(program).run()


class _Coalescer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.operations: list[MachineOp | None] = list(program.operations)
        self.uses = DefUse(program.operations, _copied(program.operations))
        self.ports = Ports(program.operations)
        self.latched = _readers_of_latches(program.operations)

    def run(self) -> int:
        before = len(self.operations)
        for index, op in enumerate(self.program.operations):
            if _is_copy(op):
                self._coalesce(index, op)
        self.program.operations[:] = [op for op in self.operations if op is not None]
        return before - len(self.program.operations)

    def _coalesce(self, index: int, op: MachineOp) -> None:
        """Let the producers of the source of a copy write its target, if that is possible."""
        source, target = op.sources[0], op.destinations[0]
        value, made = self.uses.read.get((index, source)), self.uses.written.get((index, target))
        if value is None or made is None or op.zero_flush or op.modifier or op.literal or len(made.writers) > 1:
            return
        assert isinstance(source, BufferOperand) and isinstance(target, BufferOperand)
        kept = value.partly_read or value.operand.buffer.pinned or bool(value.readers - {index})
        if not plain(source) or target.mask or target.width != source.width:
            return
        if not self._writable(value, made, index, kept=kept):
            return
        changed: dict[int, MachineOp] = {}
        for writer in value.writers:
            changed[writer] = self._written(writer, value.operand, target, kept=kept)
        for reader in self.latched.get(index, ()):
            if self.uses.last_use_before(target, reader) > index:
                return
            changed[reader] = _without_latch(changed.get(reader) or self._now(reader), COPIES[op.opcode], target)
        if not self.ports.change(self.operations, changed, gone=index):
            return
        for writer, new in changed.items():
            self.operations[writer] = new
        self.operations[index] = None
        self.uses.move(value, made, index)
        made.readers |= set(self.latched.get(index, ()))

    def _now(self, index: int) -> MachineOp:
        op = self.operations[index]
        assert op is not None
        return op

    def _writable(self, value: Value, made: Value, copy: int, *, kept: bool) -> bool:
        """The producers are near, unless the target has its place anyway, may write it, and nobody uses it from the
        first of them on."""
        near = copy - value.writers[0] <= NEAR or made.operand.buffer.pinned
        if not near or self.uses.last_use_before(made.operand, copy) >= value.writers[0]:
            return False
        producers = [self._now(w) for w in value.writers]
        if self._now(copy).opcode == "fvpassa" and not all(op.opcode.startswith("fv") for op in producers):
            return False
        units = (Unit.ALU, Unit.MAU) if kept else (Unit.ALU, Unit.MAU, Unit.L1BM)
        return all(op.literal is None and OPCODES[op.opcode].unit in units for op in producers)

    def _written(self, writer: int, source: BufferOperand, target: BufferOperand, *, kept: bool) -> MachineOp:
        """The producer with `target` among its destinations, under the mask that the source has there."""
        op = self._now(writer)
        mask: Mask | None = next(d.mask for d in op.destinations if same_access(d, source))
        rest = tuple(d for d in op.destinations if kept or not same_access(d, source))
        return replace(op, destinations=(*rest, target._replace(mask=mask)))


def _is_copy(op: MachineOp) -> bool:
    return op.opcode in COPIES and len(op.sources) == 1 and len(op.destinations) == 1


def _copied(operations: Sequence[MachineOp]) -> set[Buffer]:
    """Sources and targets of copies: what becomes of other buffers need not be known."""
    ends = (o for op in operations if _is_copy(op) for o in (*op.sources, *op.destinations))
    return {operand.buffer for operand in ends if isinstance(operand, BufferOperand)}


def _without_latch(op: MachineOp, latch: Memory, place: BufferOperand) -> MachineOp:
    """`op` reading `place` instead of the latch."""
    sources: list[AnyOperand] = []
    for operand in op.sources:
        is_latch = isinstance(operand, Operand) and operand.memory is latch
        sources.append(place._replace(negate=operand.negate) if is_latch else operand)
    return replace(op, sources=tuple(sources))


def _readers_of_latches(operations: list[MachineOp]) -> dict[int, list[int]]:
    """Producer -> operations that take its result from a forwarding latch."""
    last: dict[Memory, int] = {}
    found: dict[int, list[int]] = {}
    for index, op in enumerate(operations):
        for operand in op.sources:
            if isinstance(operand, Operand) and operand.memory in LATCHES and operand.memory in last:
                found.setdefault(last[operand.memory], []).append(index)
        latch = produced_latch(op)
        if latch is not None:
            last[latch] = index
    return found
