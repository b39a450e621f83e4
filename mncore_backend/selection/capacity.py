"""Does the per-PE program fit local memory? Asked before transfers are planned, because plans of what cannot fit are
as large as the model."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from mnc.core.diagnostics import node_name
from mnc.dialects.mncore.attributes import placement_of, shape_text
from mnc.mncore_backend.allocation.allocate import CapacityError
from mnc.mncore_backend.machine import MEMORIES
from mnc.mncore_backend.program import LOCAL_MEMORY


def _operands(op: Any) -> Iterator[Any]:
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _operands(inner.operation)


def _uses(operations: list[Any]) -> dict[Any, list[int]]:
    """Allocated buffer -> places in the program that use it, in order; a cast stands for what it casts, and what is
    resident is in use from the first place to the last."""
    roots: dict[Any, Any] = {}
    uses: dict[Any, list[int]] = {}
    for place, op in enumerate(operations):
        if op.name == "memref.alloc":
            roots[op.results[0]], uses[op.results[0]] = op.results[0], []
        elif op.name == "mncore.resident":
            roots[op.results[0]], uses[op.results[0]] = op.results[0], [0, len(operations) - 1]
        elif op.name == "memref.memory_space_cast":
            roots[op.results[0]] = roots.get(op.operands[0])
        else:
            for root in {roots.get(value) for value in _operands(op)} - {None}:
                uses[root].append(place)
    return {buffer: sorted(places) for buffer, places in uses.items()}


def check_capacity(function: Any) -> None:
    """Refuse a distributed function whose buffers cannot be in local memory together, however they are arranged.

    What an operation reads for the last time may share memory with what it writes first, so only the larger of the
    two counts.

    Raises:
        CapacityError: with the numbers at the worst operation, and its ONNX node.
    """
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    uses = {buffer: places for buffer, places in _uses(operations).items() if places}
    sizes = {buffer: placement_of(buffer.type).layout.local_size for buffer in uses}
    available = sum(MEMORIES[memory].longs for memory in LOCAL_MEMORY)
    born, dying, change = ([0] * (len(operations) + 1) for _ in range(3))
    for buffer, places in uses.items():
        born[places[0]] += sizes[buffer]
        dying[places[-1]] += sizes[buffer]
        if places[0] < places[-1]:  # alive between the two
            change[places[0] + 1] += sizes[buffer]
            change[places[-1]] -= sizes[buffer]
    needed = [t + max(d, b) for t, d, b in zip(accumulate(change), dying, born, strict=True)]
    worst = max(needed)
    place = needed.index(worst)
    if worst > available:
        alive = sorted((b for b, u in uses.items() if u[0] <= place <= u[-1]), key=lambda b: -sizes[b])
        shown = [
            (f"{_writer(b, uses, operations)} of {shape_text(placement_of(b.type).layout.shape)}", sizes[b])
            for b in alive
        ]
        raise CapacityError(LOCAL_MEMORY, worst, available, shown, operations[place].location)


def fits(function: Any) -> bool:
    """Whether `check_capacity` accepts a function."""
    try:
        check_capacity(function)
    except CapacityError:
        return False
    return True


def _writer(buffer: Any, uses: dict[Any, list[int]], operations: list[Any]) -> str:
    name = node_name(operations[uses[buffer][0]].location)
    return f"'{name}'" if name else "a value"
