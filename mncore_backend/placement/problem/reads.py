"""Who reads a tensor, and how long its place matters."""

from collections.abc import Iterator
from itertools import chain

from mnc.mncore_backend.placement.problem import (
    Loops,
    Operation,
    Pinned,
    Problem,
    Product,
    Rearrangement,
    Reshape,
    Transposition,
    Use,
)


def last_reads(problem: Problem) -> list[int]:
    """Per tensor the number of the last operation to which its place matters; -1 if to none, and one more than there
    are for results. What waits is done where its result is wanted."""
    last = [-1] * len(problem.tensors)
    for tensor in (*problem.returned, *chain.from_iterable(problem.replaced)):
        last[tensor] = len(problem.operations)
    for number, op in reversed(list(enumerate(problem.operations))):
        until = max(number, last[op.result]) if isinstance(op, Loops) and op.can_wait else number
        for tensor in read_by(op):
            last[tensor] = max(last[tensor], until)
    return last


def readers(problem: Problem) -> dict[int, list[int]]:
    """Per tensor the numbers of the operations that read it, or replace it."""
    found: dict[int, list[int]] = {}
    for number, op in enumerate(problem.operations):
        for tensor in dict.fromkeys(read_by(op)):
            found.setdefault(tensor, []).append(number)
    return found


def behind(use: Use) -> int:
    """The tensor that is read: itself, or what windows show parts of."""
    return use.tensor if use.source is None else use.source


def uses_of(op: Operation) -> tuple[Use, ...]:
    """What a product or loops read, by an index each; nothing for other operations."""
    match op:
        case Product():
            return op.left, op.right
        case Loops():
            return op.uses
        case _:
            return ()


def read_by(op: Operation) -> Iterator[int]:
    """The tensors that an operation reads or replaces, or parts of which it takes."""
    match op:
        case Product():
            yield from map(behind, uses_of(op))
            yield from () if op.updates is None else (op.updates,)
        case Loops():
            yield from map(behind, uses_of(op))
            yield from () if op.replaces is None else (op.replaces,)
        case Transposition() | Reshape():
            yield op.source
        case Rearrangement():
            yield from op.sources
            yield from () if op.part_of is None else (op.part_of,)
        case Pinned():
            yield from (tensor for tensor, _ in op.operands)
