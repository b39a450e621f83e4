"""Who writes and who reads the values of a program: chains of definitions and uses over the words of PE memory."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, MachineOp

_Word = tuple[Buffer, int]


@dataclass(eq=False, slots=True)
class Value:
    """What a place holds between two complete writes: the operations that wrote it (the first one whole, others through
    masks), the operations that read exactly it, and whether others read or replace a part of it."""

    operand: BufferOperand
    writers: list[int] = field(default_factory=list)
    readers: set[int] = field(default_factory=set)
    partly_read: bool = False


def plain(operand: AnyOperand) -> bool:
    """A PE memory operand whose words are known and taken as they are."""
    return (
        isinstance(operand, BufferOperand)
        and operand.buffer.is_pe_memory
        and not (operand.negate or operand.suffix or operand.t_indirect)
    )


def same_access(a: AnyOperand, b: AnyOperand) -> bool:
    """Both name the same words in the same order."""
    return (
        isinstance(a, BufferOperand)
        and isinstance(b, BufferOperand)
        and a.buffer is b.buffer
        and a.offsets == b.offsets
        and a.width == b.width
    )


def words_of(operand: BufferOperand) -> list[_Word]:
    """The words an access to PE memory touches."""
    return [(operand.buffer, offset + i) for offset in operand.offsets for i in range(operand.width)]


class DefUse:
    """`read[index, operand]` is the value that a source is, if it is exactly one value; `written[index, operand]` the
    value that a destination makes or, masked, changes."""

    def __init__(self, operations: Sequence[MachineOp], buffers: Set[Buffer]) -> None:
        """What happens to `buffers`, others are not followed."""
        self.read: dict[tuple[int, AnyOperand], Value] = {}
        self.written: dict[tuple[int, AnyOperand], Value] = {}
        self._values: dict[_Word, Value | None] = {}
        self._uses: dict[_Word, list[int]] = {}
        self._unknown: set[Buffer] = set()
        followed = {buffer for buffer in buffers if buffer.is_pe_memory}
        for index, op in enumerate(operations):
            for operand in op.sources:
                if isinstance(operand, BufferOperand) and operand.buffer in followed:
                    self._note_read(index, operand)
            for operand in op.destinations:
                if isinstance(operand, BufferOperand) and operand.buffer in followed:
                    self._note_write(index, op, operand)

    def last_use_before(self, operand: BufferOperand, index: int) -> int:
        """Index of the last operation before `index` that touches the words of `operand`; -1 if there is none."""
        if operand.buffer in self._unknown:
            return index
        last = -1
        for word in words_of(operand):
            uses = self._uses[word]
            place = bisect_left(uses, index)
            last = max(last, uses[place - 1] if place else -1)
        return last

    def move(self, value: Value, made: Value, copy: int) -> None:
        """The copy `made` of `value` is now written by the producers of `value`."""
        made.writers = list(value.writers)
        value.readers.discard(copy)
        for word in words_of(made.operand):
            uses = self._uses[word]
            uses[:] = sorted({*uses, *made.writers} - {copy})

    def _in(self, buffer: Buffer) -> Iterator[Value]:
        """What a buffer holds now."""
        for word in range(2 * buffer.size):
            if (value := self._values.get((buffer, word))) is not None:
                yield value

    def _value(self, operand: BufferOperand, words: Sequence[_Word]) -> Value | None:
        value = self._values.get(words[0])
        if value is None or not same_access(value.operand, operand):
            return None
        return value if all(self._values.get(word) is value for word in words) else None

    def _note_use(self, index: int, operand: BufferOperand) -> list[_Word]:
        """The words of the operand. Through T it may be any word of the buffer, so every value in it is used."""
        if operand.t_indirect:
            self._unknown.add(operand.buffer)
            for value in self._in(operand.buffer):
                value.partly_read = True
        words = words_of(operand)
        for word in words:
            uses = self._uses.setdefault(word, [])
            if not uses or uses[-1] != index:
                uses.append(index)
        return words

    def _note_read(self, index: int, operand: BufferOperand) -> None:
        words = self._note_use(index, operand)
        value = None if operand.t_indirect else self._value(operand, words)
        if value is not None:
            self.read[index, operand] = value
            value.readers.add(index)
            return
        for word in words:
            part = self._values.get(word)
            if part is not None:
                part.partly_read = True

    def _note_write(self, index: int, op: MachineOp, operand: BufferOperand) -> None:
        words = self._note_use(index, operand)
        value = self._value(operand, words) if operand.mask is not None else Value(operand)
        if not plain(operand) or len(set(words)) < len(words) or op.is_transfer:
            value = None
        if value is not None:
            value.writers.append(index)
            self.written[index, operand] = value
        for word in words:
            before = self._values.get(word)
            if before is not None and before is not value and operand.mask is not None:
                before.partly_read = True  # what the mask leaves is still there
            self._values[word] = value
