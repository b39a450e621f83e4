"""The program between instruction selection and text: machine operations over buffers whose addresses are not yet
known, and the builder that generators write into.

A `Buffer` is a run of long words in one kind of memory. An operand of a `MachineOp` is either a plain
`assembly.records.Operand` (latches, matrix banks, T, masks, fixed values) or a `BufferOperand`: a buffer plus one word
offset per cycle. `allocation` gives every buffer a base address, `BufferOperand.resolve` then yields the plain operand,
and `scheduling` packs the expressions into steps. Generators therefore never see an address and never count a nop.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mnc.mncore_backend.assembly.records import Expression, Literal, Mask, Memory, Operand
from mnc.mncore_backend.target import WRITABLE_MASKS

LOCAL_MEMORY = (Memory.LM0, Memory.LM1)
REGISTER_FILE = (Memory.GRF0, Memory.GRF1)
PE_MEMORY = (*LOCAL_MEMORY, *REGISTER_FILE)
PASSES = {1: "ipassa", 2: "lpassa"}
"""What copies words and long words from one place of a PE to another, by the number of words."""
COORDINATE = {"L2B": Memory.L2BID, "L1B": Memory.L1BID, "MAB": Memory.MABID, "PE": Memory.SUBPEID}
"""Operands that hold a PE's own coordinates, by the name of the axis."""


@dataclass(eq=False, slots=True)
class Buffer:
    """A run of `size` long words. `choices` are the memories it may live in (the allocator picks one, balancing ports);
    upper memories (L1BM, L2BM, PDM, DRAM) have one choice. `alignment` is in long words. DRAM buffers are per group.
    The last `spare` long words hold no element: cycles of a step without work write there, see `spare_lanes`."""

    name: str
    size: int
    choices: tuple[Memory, ...]
    alignment: int = 2  # long words: a 2-long access needs 2
    memory: Memory | None = None  # set by allocation
    base: int | None = None  # long-word address, set by allocation
    pinned: bool = False  # lives for the whole program (inputs, outputs, resident weights)
    spare: int = 0
    spare_written: int = 0  # how many of them hold something by now, while operations are generated

    @property
    def is_pe_memory(self) -> bool:
        return self.choices[0] in PE_MEMORY

    @property
    def used(self) -> int:
        """Long words that elements have."""
        return self.size - self.spare


class BufferOperand(NamedTuple):
    """Access to a buffer. PE memories: `offsets` are 4 word offsets (one per cycle) and `width` is 1, 2 or 4 words.
    Upper memories: offsets[0] is a long-word offset; group/l2b as in `Operand`."""

    buffer: Buffer
    offsets: tuple[int, ...]
    width: int = 2
    negate: bool = False
    suffix: str = ""
    mask: Mask | None = None
    t_indirect: bool = False
    group: int | None = None
    l2b: int | None = None

    def resolve(self) -> Operand:
        """The plain operand; the buffer must have been allocated."""
        buffer = self.buffer
        if buffer.memory is None or buffer.base is None:
            raise ValueError(f"buffer {buffer.name} has no address yet")
        common = {"negate": self.negate, "suffix": self.suffix, "mask": self.mask, "t_indirect": self.t_indirect}
        if not buffer.is_pe_memory:
            address = buffer.base + self.offsets[0]
            return Operand(buffer.memory, self.width, address, group=self.group, l2b=self.l2b, **common)
        first, *rest = (2 * buffer.base + offset for offset in self.offsets)
        a = (first, *rest)
        step = a[1] - a[0]
        if all(x == first for x in a):
            return Operand(buffer.memory, self.width, first, **common)
        if step > 0 and a[2] - a[1] == step and a[3] - a[2] == step:
            return Operand(buffer.memory, self.width, first, stride=step, **common)
        return Operand(buffer.memory, self.width, flat=(a[0], a[1], a[2], a[3]), **common)


AnyOperand = Operand | BufferOperand


class Origin(str):
    """Where operations come from: the names of ONNX nodes, and `kernel`, the number of the loop nest or movement among
    those that the program was selected from. It is as good as the names alone wherever names are wanted."""

    kernel: int | None

    def __new__(cls, nodes: str, kernel: int | None = None) -> "Origin":
        made = super().__new__(cls, nodes)
        made.kernel = kernel
        return made

    def __reduce__(self) -> tuple[type["Origin"], tuple[str, int | None]]:
        return Origin, (str(self), self.kernel)


def kernel_of_origin(location: str) -> int | None:
    """Number of the loop nest or movement that a location carries, if any."""
    return location.kernel if isinstance(location, Origin) else None


@dataclass(eq=False, slots=True)
class MachineOp:
    """One expression (PE work) or one MV transfer, before scheduling. `size` is set for MV transfers only (long words,
    counted as the form of the transfer defines). `location` is the ONNX node it came from, see `Origin`."""

    opcode: str
    sources: tuple[AnyOperand, ...] = ()
    destinations: tuple[AnyOperand, ...] = ()
    modifier: str = ""
    zero_flush: Mask | None = None
    literal: Literal | None = None
    size: int = 0
    location: str = ""
    meetings: tuple[tuple[Buffer, Buffer, bool], ...] | None = field(default=None, init=False, repr=False)
    """Of an operation that is looked at often: which buffers its operands keep apart, see `allocation.ports`."""

    @property
    def is_transfer(self) -> bool:
        return self.opcode.startswith("mv")

    def resolve(self, known: dict[BufferOperand, Operand] | None = None) -> Expression:
        """The expression with plain operands (PE work only). `known`: operands resolved before, which the operations of
        a program share as long as no buffer moves."""
        if known is None:
            known = {}
        sources, destinations = _resolved(self.sources, known), _resolved(self.destinations, known)
        return Expression(self.opcode, sources, destinations, self.modifier, self.zero_flush, self.literal)


def _resolved(operands: tuple[AnyOperand, ...], known: dict[BufferOperand, Operand]) -> tuple[Operand, ...]:
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, BufferOperand):
            plain = known.get(operand)
            if plain is None:
                plain = known[operand] = operand.resolve()
            found.append(plain)
        else:
            found.append(operand)
    return tuple(found)


@dataclass(eq=False, slots=True)
class Program:
    """Buffers and operations in an order that is correct when executed one after the other."""

    buffers: list[Buffer] = field(default_factory=list)
    operations: list[MachineOp] = field(default_factory=list)

    def buffer(
        self,
        name: str,
        size: int,
        choices: Sequence[Memory],
        *,
        alignment: int = 2,
        pinned: bool = False,
        spare: int = 0,
    ) -> Buffer:
        made = Buffer(name, size + spare, tuple(choices), alignment, pinned=pinned, spare=spare)
        self.buffers.append(made)
        return made


@dataclass(slots=True)
class Builder:
    """What generators write into: appends operations to a program, all with the same location."""

    program: Program
    location: str = ""
    keep: bool = False
    """Whether the program keeps constants between runs, so that movements need not load theirs."""
    masks: deque[int] = field(default_factory=lambda: deque(WRITABLE_MASKS))
    """Mask registers not in use, the one used longest ago first: reuse orders operations that are independent."""

    def emit(
        self,
        opcode: str,
        sources: Iterable[AnyOperand] = (),
        destinations: Iterable[AnyOperand] = (),
        *,
        modifier: str = "",
        zero_flush: Mask | None = None,
        literal: Literal | None = None,
        size: int = 0,
    ) -> MachineOp:
        op = MachineOp(opcode, tuple(sources), tuple(destinations), modifier, zero_flush, literal, size, self.location)
        self.program.operations.append(op)
        return op

    def adopt(self, trial: "Builder") -> None:
        """Take what another builder has made as the next that this one makes."""
        self.program.buffers += trial.program.buffers
        self.program.operations += trial.program.operations

    def temporary(
        self,
        size: int,
        choices: Sequence[Memory] = REGISTER_FILE,
        name: str = "t",
        alignment: int | None = None,
        *,
        spare: int = 0,
    ) -> Buffer:
        """A short-lived buffer; its lifetime is from its first to its last use. Unless it is a single long word, two of
        which are never accessed at once, it is aligned for such accesses."""
        return self.program.buffer(name, size, choices, alignment=alignment or min(size, 2) or 1, spare=spare)


def local(buffer: Buffer, long_offsets: Sequence[int], *, two_long: bool = False, **extra) -> BufferOperand:
    """Access to PE memory at four long-word offsets (one per cycle), or the same offset in all cycles."""
    offsets = tuple(2 * o for o in long_offsets)
    if len(offsets) == 1:
        offsets *= 4
    return BufferOperand(buffer, offsets, 4 if two_long else 2, **extra)


def upper(buffer: Buffer, offset: int = 0, *, two_long: bool = False, **extra) -> BufferOperand:
    """Access to L1BM, L2BM, PDM or DRAM at a long-word offset. `two_long` selects the ``$llb`` form."""
    return BufferOperand(buffer, (offset,), 4 if two_long else 2, **extra)


def with_mask(operand: BufferOperand, mask: Mask) -> BufferOperand:
    return operand._replace(mask=mask)


def spare_lanes(buffer: Buffer, offsets: Sequence[int], active: str, *, write: bool) -> list[int]:
    """Long-word offsets of four cycles, those without work (0 in `active`) in the spare end of the buffer. A step that
    repeats an address instead makes readers wait for its last cycle, and no latch can stand for what it writes. As
    given where there is no room or, in a read, nothing yet."""
    idle = [cycle for cycle, mark in enumerate(active) if mark == "0"]
    result = list(offsets)
    if len(idle) > (buffer.spare if write else buffer.spare_written):
        return result
    for number, cycle in enumerate(idle):
        result[cycle] = buffer.used + number
    if write:
        buffer.spare_written = max(buffer.spare_written, len(idle))
    return result
