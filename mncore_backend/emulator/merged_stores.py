"""Results that a kernel stores to their destination itself.

A step computes into buffers first and stores then, because every unit reads the memories as they were before the step.
Where nothing that follows in the step touches the memory of a destination, the kernel of the unit can store there at
once. Stores that stay behind read buffers only.
"""

from collections.abc import Sequence

from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.arena import CYCLES, arena_layout, row_bytes
from mnc.mncore_backend.emulator.kernels.jit import Kernel
from mnc.mncore_backend.target import cached_per_machine

_Call = tuple[Kernel, tuple[Sequence[int], ...]]


@cached_per_machine()
def _memories() -> list[range]:
    """Bytes of a block that are PE memories."""
    places = [arena_layout().regions[name] for name in "mnrs"]
    return [range(first * row_bytes(), (first + count) * row_bytes()) for first, count in places]


def _memory(base: int, rows: Sequence[int]) -> range | None:
    """The PE memory in which all rows lie."""
    if len(rows) != CYCLES + 1 or rows[CYCLES] != arena_layout().block_bytes:
        return None
    return next((memory for memory in _memories() if all(row - base in memory for row in rows[:CYCLES])), None)


def _touches(base: int, call: _Call, memory: range) -> bool:
    return any(row - base in memory for operand in call[1] for row in operand[:CYCLES])


def store_at_once(
    base: int, compute: Sequence[_Call], carries: Sequence[_Call], stores: Sequence[_Call]
) -> tuple[list[_Call], list[_Call]]:
    """Computing calls and stores of a step in an arena that begins at `base`, with fewer stores where that is possible.
    It depends on the memories that the step uses, not on its addresses in them."""
    computing, storing = list(compute), list(stores)
    for store in stores:
        kernel, operands = store
        memory = _memory(base, operands[0])
        writers = [i for i, (_, rows) in enumerate(computing) if rows[0] == operands[1]]
        if kernel is not kernels.copy() or memory is None or len(writers) != 1:
            continue
        writer, rows = computing[writers[0]]
        if writer.operands[0] != "out" or writer.operands[-1] == "also":
            continue
        at = next(i for i, other in enumerate(storing) if other is store)
        overtaken = (*computing[writers[0] :], *carries, *storing[:at])
        if not any(_touches(base, call, memory) for call in overtaken):
            computing[writers[0]] = (kernels.storing_twice(writer), (*rows, operands[0]))
            del storing[at]
    return computing, storing
