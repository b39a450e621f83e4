"""unroll-trips: a program that is repeated does several of its trips at once, so that they overlap.

before:  attributes {mncore.trips = 48}; mncore.instruction "fvadd | %row | %state | -> %state"
after:   attributes {mncore.trips = 12}; the same four times, each with buffers and a row of its own

What trips do with tensors that stay in local memory is shifted by rows; constants are written once. Programs that take
other parts of tensors in DRAM in every trip stay as they are: they work more than they wait.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.modules import functions_of
from mnc.core.pass_base import at_least
from mnc.dialects.mncore.trips import NODES, SLICE, TRIPS, WEIGHTS, read_slice, slice_attribute
from mnc.mncore_backend.codegen.host_ir import read_attribute, read_kept, window_of
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit, operations_of
from mnc.mncore_backend.codegen.scheduling.reading import moving_memories
from mnc.mncore_backend.codegen.trips import Slice
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, MachineOp, Origin, kernel_of_origin
from mnc.mncore_backend.target import chip


@dataclass(frozen=True)
class UnrollTrips(MachinePass):
    """Do ``copies`` trips at once, or as many fewer as it takes for their number to be divisible."""

    name = "unroll-trips"
    copies: int = at_least(1, 4)

    def run_on(self, unit: Unit) -> None:
        """Repeat the operations of a trip, and say what trips there are now. Raises CompileError where addresses of
        rows hang on base registers."""
        count = read_attribute(unit.module, TRIPS)
        rows = {} if count is None else _rows(unit)
        if rows and moving_memories(unit.program.operations):
            message = "moves base registers, so that addresses do not say which are those of rows"
            raise error_at(unit.module.operation, message, hint="compile it as a whole")
        if count is None or _takes_parts(unit.module):
            return
        trips = ir.IntegerAttr(count).value
        copies = max(own for own in range(1, self.copies + 1) if trips % own == 0)
        if copies > 1 and all(own.has_equal_steps for own in rows.values()):
            unit.program.operations = _unrolled(unit.program.operations, rows, copies)
            unit.program.buffers = list(dict.fromkeys([*unit.program.buffers, *_buffers(unit.program.operations)]))
            unit.is_rewritten = True
            _note(unit.module, trips // copies, copies)


@dataclass(frozen=True)
class _Rows:
    """Rows that trips have of a buffer, and words of a PE from one to the next."""

    numbers: tuple[int, ...]
    words: int

    @property
    def step(self) -> int:
        """Rows from one trip to the next."""
        return self.numbers[1] - self.numbers[0]

    @property
    def has_equal_steps(self) -> bool:
        """Whether all trips are as many rows from the one before."""
        return all(b - a == self.step for a, b in pairwise(self.numbers))

    def shift(self, copy: int, copies: int) -> int:
        """Words from the first of the rows of several trips, in the order of addresses, to that of one of them."""
        return self.words * self.step * (copy if self.step > 0 else copy - copies + 1)


def _takes_parts(module: Any) -> bool:
    """Whether trips have other tensors in DRAM, or other parts of them."""
    weights = read_attribute(module, WEIGHTS)
    images = (op for op in operations_of(module) if op.name == "mncore.image")
    return (weights is not None and len(ir.ArrayAttr(weights)) > 0) or any(SLICE in op.attributes for op in images)


def _rows(unit: Unit) -> dict[Buffer, _Rows]:
    windows = (window_of(kept) for kept in read_kept(unit.module, unit.buffers))
    words = chip().axis_size[Axis.W]
    return {own.buffer: _Rows(own.rows, own.longs * words) for own in windows if own is not None}


def _buffers(operations: Sequence[MachineOp]) -> Iterator[Buffer]:
    for op in operations:
        for operand in (*op.sources, *op.destinations):
            if isinstance(operand, BufferOperand):
                yield operand.buffer


def _unrolled(operations: Sequence[MachineOp], rows: dict[Buffer, _Rows], copies: int) -> list[MachineOp]:
    """The operations of several trips."""
    constant = _constants(operations)
    kernels = 1 + max((kernel_of_origin(op.location) or 0 for op in operations), default=0)
    made: list[MachineOp] = []
    for copy in range(copies):
        own = _Copy(copy, copies, rows, constant)
        for op in operations:
            if copy == 0 or not _writes(op, constant):
                made.append(own.of(op, copy * kernels))
    return made


@dataclass
class _Copy:
    """One of several trips. `constant` buffers are the same in all."""

    number: int
    count: int
    rows: dict[Buffer, _Rows]
    constant: set[Buffer]

    def __post_init__(self) -> None:
        self._made: dict[Buffer, Buffer] = {}

    def of(self, op: MachineOp, kernels: int) -> MachineOp:
        """What an operation is in this trip; `kernels`: how many there are in the trips before."""
        kernel = kernel_of_origin(op.location)
        location = op.location if kernel is None else Origin(str(op.location), kernel + kernels)
        sources, destinations = (tuple(map(self._operand, own)) for own in (op.sources, op.destinations))
        return replace(op, sources=sources, destinations=destinations, location=location)

    def _operand(self, operand: AnyOperand) -> AnyOperand:
        if not isinstance(operand, BufferOperand):
            return operand
        rows = self.rows.get(operand.buffer)
        if rows is not None:
            shift = rows.shift(self.number, self.count)
            return operand._replace(offsets=tuple(offset + shift for offset in operand.offsets))
        return operand._replace(buffer=self._buffer(operand.buffer))

    def _buffer(self, buffer: Buffer) -> Buffer:
        if self.number == 0 or buffer.pinned or buffer in self.constant:
            return buffer
        if buffer not in self._made:
            self._made[buffer] = replace(buffer)
        return self._made[buffer]


def _constants(operations: Sequence[MachineOp]) -> set[Buffer]:
    """Buffers that are written once, with a constant, by itself or by way of another."""
    writes = Counter(o.buffer for op in operations for o in op.destinations if isinstance(o, BufferOperand))
    found: set[Buffer] = set()
    for op in operations:
        target = op.destinations[0] if len(op.destinations) == 1 else None
        if not isinstance(target, BufferOperand) or target.mask is not None or target.buffer.pinned:
            continue
        is_given = all(isinstance(o, BufferOperand) and o.buffer in found for o in op.sources)
        if writes[target.buffer] == 1 and is_given and (op.sources or op.literal is not None):
            found.add(target.buffer)
    return found


def _writes(op: MachineOp, buffers: set[Buffer]) -> bool:
    return any(isinstance(own, BufferOperand) and own.buffer in buffers for own in op.destinations)


def _note(module: Any, trips: int, copies: int) -> None:
    """Say on a module how many trips there are, and which rows and nodes each has first."""
    with module.context, ir.Location.unknown():
        for function in functions_of(module):
            attributes = function.operation.attributes
            attributes[TRIPS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), trips)
            if NODES in attributes:
                attributes[NODES] = ir.ArrayAttr.get(list(ir.ArrayAttr(attributes[NODES]))[::copies])
        for op in operations_of(module):
            if op.name == "mncore.kept" and (part := read_slice(op.attributes)) is not None:
                groups = [part.starts[n : n + copies] for n in range(0, len(part.starts), copies)]
                op.attributes[SLICE] = slice_attribute(Slice(part.whole, tuple(map(min, groups))))
