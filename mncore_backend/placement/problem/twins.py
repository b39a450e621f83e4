"""Operations that repeat earlier ones, as those of the steps of a recurrence and of the layers of a network do.

Layers are found by what their operations are, one like the other in the same order, and not by what they read: whoever
follows an earlier operation has to look whether it can.
"""

from collections.abc import Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.placement.problem.problem import (
    Loops,
    Operation,
    Problem,
    Product,
    Rearrangement,
    Reshape,
    Transposition,
    Use,
)

FREE = 2
"""Layers at the front that follow nobody: the first finds its operands elsewhere, the second as all others do."""
LEAST = 6
"""Layers of a row in which some follow others."""


def twins(problem: Problem) -> dict[int, int]:
    """Of operations of equal layers the numbers of those that they repeat, a layer before: of all but the first layers
    of a row and the last one, behind which there is something else."""
    kinds: dict[Hashable, int] = {}
    ids = np.array([kinds.setdefault(_kind(problem, op), len(kinds)) for op in problem.operations], np.int64)
    found: dict[int, int] = {}
    for start, length, period in sorted(runs(ids), key=lambda run: (-run[1], run[2])):
        if length >= (LEAST - 1) * period:
            for number in range(start + FREE * period, start + length):
                found.setdefault(number, number - period)
    return found


def runs(ids: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """(start, length, period): `length` numbers from `start` on are each equal to the one `period` behind it."""
    for period in range(1, len(ids) // 2 + 1):
        same = np.concatenate([[False], ids[:-period] == ids[period:], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - start >= period:
                yield start, end - start, period


def _kind(problem: Problem, op: Operation) -> Hashable:
    """What operations have in common that may be placed alike."""
    shape = problem.tensors[op.result].shape
    match op:
        case Product():
            return op.contraction, _read(op.left), _read(op.right), op.updates is None
        case Loops():
            return shape, op.access, op.extents, op.parallel, op.work, op.combines, op.chosen, *map(_read, op.uses)
        case Transposition():
            return shape, op.order
        case Reshape():
            return shape, problem.tensors[op.source].shape
        case Rearrangement():
            return shape, tuple(problem.tensors[source].shape for source in op.sources)
        case _:
            return op


def _read(use: Use) -> Hashable:
    return use.access, use.shape, use.is_direct, use.windows, use.copied
