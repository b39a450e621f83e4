"""Loops of a program: operations that repeat, one iteration behind the other.

An operation repeats another if it has the same opcode and reads and writes the same memories. Addresses are not looked
at: what depends on them is found out from the operations themselves (`read_body`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.codegen.scheduling.chains import find_chains
from mnc.mncore_backend.program import BufferOperand, MachineOp

SHORT = 64
"""Operations of a body up to which every size is looked for; of longer ones, those that occur most."""
SIZES = 8
"""How many long sizes are looked for."""
TRIPS = 4
"""Iterations of a loop at least."""
ALIKE = 16
"""Operations in a row that say where a long body begins again."""


@dataclass(frozen=True, slots=True)
class Loop:
    """`trips` iterations of `size` operations, from operation `first` on. Loops of one `kind` repeat the same
    operations."""

    first: int
    size: int
    trips: int
    kind: tuple[int, ...]

    @property
    def end(self) -> int:
        """The first operation behind."""
        return self.first + self.size * self.trips


def find_loops(operations: Sequence[MachineOp]) -> list[Loop]:
    """Loops in program order. No two short ones overlap, nor two long ones; the short ones may be inside the long ones.
    Those that cover most operations go first, of equal ones the one with the smallest body. No chain goes from one
    iteration into the next. Raises InternalError where latches cannot be tied (`find_chains`)."""
    kinds = _kinds(operations)
    whole = np.ones(len(operations) + 1, bool)  # no chain lies across the border before this operation
    for chain in find_chains(operations):
        members = [i for row in chain.rows for i in row]
        whole[min(members) + 1 : max(members) + 1] = False
    loops: list[Loop] = []
    for sizes in (range(1, SHORT + 1), _long_sizes(kinds)):
        taken = np.zeros(len(operations), bool)
        for size, start, stop in _runs(kinds, sizes):
            for free, end in _free(taken, start, stop):
                loop = _cut(kinds, whole, size, free, end)
                if loop is not None:
                    taken[loop.first : loop.end] = True
                    loops.append(loop)
    return sorted(loops, key=lambda loop: (loop.first, -loop.size))


def _kinds(operations: Sequence[MachineOp]) -> NDArray[np.int64]:
    """A number per operation, equal for those that repeat each other."""
    numbers: dict[object, int] = {}
    kinds = np.empty(len(operations), np.int64)
    for i, op in enumerate(operations):
        read, written = ([_memory(o) for o in operands] for operands in (op.sources, op.destinations))
        kinds[i] = numbers.setdefault((op.opcode, op.modifier, op.size, *read, None, *written), len(numbers))
    return kinds


def _memory(operand: object) -> object:
    return operand.buffer.memory if isinstance(operand, BufferOperand) else getattr(operand, "memory", None)


def _long_sizes(kinds: NDArray[np.int64]) -> list[int]:
    """The distances at which the same `ALIKE` operations occur again, if they are long: the most frequent ones."""
    last: dict[bytes, int] = {}
    counts: dict[int, int] = {}
    for place in range(len(kinds) - ALIKE):
        key = kinds[place : place + ALIKE].tobytes()
        distance = place - last.get(key, place)
        if SHORT < distance <= len(kinds) // TRIPS:
            counts[distance] = counts.get(distance, 0) + 1
        last[key] = place
    return sorted(counts, key=lambda size: (-size * counts[size], size))[:SIZES]


def _runs(kinds: NDArray[np.int64], sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Size of the body, first operation and end of all runs that repeat themselves often enough."""
    found = []
    for size in sizes:
        if size * TRIPS > len(kinds):
            continue
        for start, stop in _stretches(kinds[size:] == kinds[:-size]):
            if stop - start >= (TRIPS - 1) * size:
                found.append((size, start, stop + size))
    return sorted(found, key=lambda run: (run[1] - run[2], run[0], run[1]))


def _free(taken: NDArray[np.bool_], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The parts of a run that no other loop has."""
    for first, end in _stretches(~taken[start:stop]):
        yield start + first, start + end


def _stretches(true: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Begins and ends of what is true."""
    padded = np.zeros(len(true) + 2, np.int8)
    padded[1:-1] = true
    borders = np.flatnonzero(np.diff(padded)).tolist()
    return list(zip(borders[::2], borders[1::2], strict=True))


def _cut(kinds: NDArray[np.int64], whole: NDArray[np.bool_], size: int, start: int, stop: int) -> Loop | None:
    """The first loop in a run whose iterations begin where no chain is cut."""
    for first in range(start, start + size):
        trips = (stop - first) // size
        if trips < TRIPS:
            return None
        if whole[first : first + size * trips + 1 : size].all():
            return Loop(first, size, trips, tuple(kinds[first : first + size].tolist()))
    return None
