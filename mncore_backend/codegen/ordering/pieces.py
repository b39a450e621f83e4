"""A load in pieces: MVs with the hops that bring on what they bring.

Loads use few staging buffers in turn. What is written to one after it was read is another filling of it, and operations
that have a filling in common belong to one piece.
"""

from collections.abc import Sequence

from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp

STAGING = Memory.L1BM, Memory.L2BM
_HOPS = Unit.L1BM, Unit.L2BM
_BLOCK = 64  # long words that a hop writes into an L1BM at least

Filling = tuple[Buffer, int]


def is_on_its_way(op: MachineOp) -> bool:
    """Whether an operation brings data from DRAM one level down, and depends on no register."""
    operands = [o for o in (*op.sources, *op.destinations) if isinstance(o, BufferOperand)]
    if not op.sources or op.zero_flush is not None or len(operands) < len(op.sources) + len(op.destinations):
        return False
    if any(o.t_indirect or (o.mask is not None and o.mask.entry is not None) for o in operands):
        return False
    source = op.sources[0]
    assert isinstance(source, BufferOperand)
    if op.is_transfer:
        return source.buffer.choices[0] is Memory.DRAM
    return OPCODES[op.opcode].unit in _HOPS and source.buffer.choices[0] in STAGING


def pieces_of(operations: Sequence[MachineOp]) -> list[list[MachineOp]]:
    """The pieces of a load in the order of their first operations; none if an operation reads what is not there."""
    fillings = _Fillings()
    group: dict[Filling, int] = {}
    piece: list[int] = []
    joined: dict[int, int] = {}  # a piece that turned out to belong to an earlier one

    def root(number: int) -> int:
        while number in joined:
            number = joined[number]
        return number

    for index, op in enumerate(operations):
        own = fillings.used(op)
        if own is None:
            return []
        known = sorted({root(group[filling]) for filling in own if filling in group})
        first = known[0] if known else index
        joined.update(dict.fromkeys(known[1:], first))
        group.update(dict.fromkeys(own, first))
        piece.append(first)
    found: dict[int, list[MachineOp]] = {}
    for number, op in zip(piece, operations, strict=True):
        found.setdefault(root(number), []).append(op)
    return [found[number] for number in sorted(found)]


class _Fillings:
    """What staging buffers hold: number of the filling, its parts (first long word and the one behind the last), and
    whether it has been read."""

    def __init__(self) -> None:
        self._number: dict[Buffer, int] = {}
        self._parts: dict[Buffer, list[tuple[int, int]]] = {}
        self._is_read: set[Buffer] = set()

    def used(self, op: MachineOp) -> list[Filling] | None:
        """The fillings that an operation reads and writes; None if it reads one where nothing was written."""
        found: list[Filling] = []
        for operand in op.sources:
            if isinstance(operand, BufferOperand) and (buffer := operand.buffer).choices[0] in STAGING:
                if not any(first <= operand.offsets[0] < end for first, end in self._parts.get(buffer, ())):
                    return None
                self._is_read.add(buffer)
                found.append((buffer, self._number[buffer]))
        for operand in op.destinations:
            if isinstance(operand, BufferOperand) and (buffer := operand.buffer).choices[0] in STAGING:
                if buffer in self._is_read or buffer not in self._number:
                    self._is_read.discard(buffer)
                    self._number[buffer] = self._number.get(buffer, -1) + 1
                    self._parts[buffer] = []
                size = op.size if op.is_transfer else _BLOCK
                self._parts[buffer].append((operand.offsets[0], operand.offsets[0] + size))
                found.append((buffer, self._number[buffer]))
        return found
