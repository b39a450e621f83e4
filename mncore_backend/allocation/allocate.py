"""Memory and address of every buffer of a program."""

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.allocation.choose import choose_memories
from mnc.mncore_backend.allocation.lifetimes import Life, lives_of
from mnc.mncore_backend.allocation.pack import pack, peak
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.machine import MEMORIES
from mnc.mncore_backend.program import Program

_SHOWN = 6


class CapacityError(CompileError):
    """The model needs more of a memory than there is.

    Args:
        memory: the memory that is too small.
        needed: long words alive at the worst moment.
        available: long words of one copy of the memory.
        buffers: (name, size) of what is alive then, largest first.
    """

    def __init__(self, memory: Memory, needed: int, available: int, buffers: list[tuple[str, int]]) -> None:
        shown = ", ".join(f"{name} ({size})" for name, size in buffers[:_SHOWN])
        rest = f" and {len(buffers) - _SHOWN} more" if len(buffers) > _SHOWN else ""
        level = MEMORIES[memory].level
        how = f"{needed} long words are needed at once" if needed > available else f"{needed} long words do not pack"
        super().__init__(
            f"{memory.name} of a {level} holds {available} long words, but {how}, by {shown}{rest}",
            hint="use a smaller batch, or split the largest tensor over more of the chip",
        )
        self.memory = memory
        self.needed = needed
        self.available = available
        self.buffers = buffers


def allocate(program: Program, *, pinned_first: bool = True) -> None:
    """Set `memory` and `base` of every buffer that some operation uses or that is pinned.

    A buffer lives from its first to its last use in program order, pinned ones always; buffers whose lives do not
    overlap may share addresses. Operands that meet in one step get memories whose ports allow it. A memory or base that
    is already set is kept. With `pinned_first` pinned buffers get the lowest addresses, whatever they are used for.

    Raises:
        CapacityError: a memory is too small.
        InternalError: an operation (or a row of a latch chain) needs operands that no choice of memories can serve.
    """
    lives = lives_of(program, pinned_first=pinned_first)
    chosen = choose_memories(lives)
    by_memory: dict[Memory, list[Life]] = {}
    for life in lives:
        by_memory.setdefault(chosen[life], []).append(life)
    for memory, members in by_memory.items():
        capacity = MEMORIES[memory].longs
        placed = pack(members, capacity)
        if placed is None:
            needed, who = peak(members)
            raise CapacityError(memory, needed, capacity, [(l.buffer.name, l.buffer.size) for l in who])
        for life, base in placed.items():
            life.buffer.memory, life.buffer.base = memory, base
