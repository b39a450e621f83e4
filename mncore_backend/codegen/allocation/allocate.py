"""Memory and address of every buffer of a program."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from mnc.core.diagnostics import CompileError, InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation.balance import balanced
from mnc.mncore_backend.codegen.allocation.choose import choose_memories
from mnc.mncore_backend.codegen.allocation.lifetimes import Life, lives_of
from mnc.mncore_backend.codegen.allocation.pack import left_over, pack, peak
from mnc.mncore_backend.codegen.allocation.promote import promote_buffers
from mnc.mncore_backend.codegen.allocation.relieve import relieve
from mnc.mncore_backend.codegen.scheduling.chains import find_chains
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, Program
from mnc.mncore_backend.target import chip

_SHOWN = 6
ROUNDS = 8
"""How often one local memory is relieved of buffers at most."""
TIGHT = False, True
"""How memories are chosen: as it suits the ports, and if that does not pack as it suits the room."""
SPARE = 0, 1 / 16
"""Parts of memories that are left free where buffers change sides."""
FRAGMENTS = 8
"""Part of a local memory of which it is relieved where everything would fit but does not pack."""


class CapacityError(CompileError):
    """The model needs more of a memory than there is.

    Args:
        memories: the memories that are too small together.
        needed: long words alive at the worst moment.
        available: long words of one copy of each of the memories.
        buffers: (name, size) of what is alive then, largest first; names of nodes where they are known.
        location: where the worst moment is, if known.
    """

    def __init__(
        self,
        memories: tuple[Memory, ...],
        needed: int,
        available: int,
        buffers: list[tuple[str, int]],
        location: object | None = None,
    ) -> None:
        shown = ", ".join(f"{name} ({size})" for name, size in buffers[:_SHOWN])
        rest = f" and {len(buffers) - _SHOWN} more" if len(buffers) > _SHOWN else ""
        names = " and ".join(memory.name for memory in memories)
        holds = f"{names} of a {chip().memories[memories[0]].level} hold{'s' if len(memories) == 1 else ''}"
        how = f"{needed} long words are needed at once" if needed > available else f"{needed} long words do not pack"
        super().__init__(
            f"{holds} {available} long words, but {how}, by {shown}{rest}",
            hint=_way_out(needed, available, buffers),
            location=location,
        )
        self.memories = memories
        self.alive: list[Buffer] = []
        """The buffers themselves, where they are known."""
        self.beside = needed
        """What is needed then of all memories that could take them."""
        self.needed = needed
        self.available = available
        self.buffers = buffers


def _way_out(needed: int, available: int, buffers: list[tuple[str, int]]) -> str:
    """What has to change, by how much: one tensor, all that are needed at once, or only their sizes."""
    name, size = buffers[0] if buffers else ("the largest tensor", needed)
    if needed <= available:
        return "there is room, but not in one piece: a batch, image or sequence of another size may pack"
    if size > available:
        factor = _times(size, available)
        return f"{name} alone takes {factor:,} times what there is: take a batch, image or sequence so much smaller"
    factor = _times(needed, available)
    return f"take a batch, image or sequence {factor:,} times smaller, or split {name} into several nodes"


def _times(wanted: int, available: int) -> float:
    """How many times as much, to one decimal, rather too large than too small."""
    return round(wanted / available + 0.05, 1)


def allocate(program: Program, *, pinned_first: bool = True) -> None:
    """Set `memory` and `base` of every buffer that some operation uses or that is pinned.

    A buffer lives from its first to its last use in program order, pinned ones always; buffers whose lives do not
    overlap may share addresses. Operands that meet in one step get memories whose ports allow it. A memory or base that
    is already set is kept. With `pinned_first` pinned buffers get the lowest addresses, whatever they are used for.
    Small buffers of the local memories go to the register files if those have room for them. Where one local memory
    overflows beside the other, operations are rewritten (`relieve`).

    Raises:
        CapacityError: a memory is too small.
        InternalError: an operation (or a row of a latch chain) needs operands that no choice of memories can serve.
    """
    for number in range(ROUNDS):
        try:
            return _promote_and_allocate(program, pinned_first=pinned_first, only_tight=number > 0)
        except CapacityError as error:
            surplus = max(error.needed - error.available, error.available // FRAGMENTS)
            lopsided = error.memories[0] in LOCAL_MEMORY and error.beside <= len(LOCAL_MEMORY) * error.available
            if not lopsided or not relieve(program, error.alive, surplus):
                raise
    return _promote_and_allocate(program, pinned_first=pinned_first, only_tight=True)


def unplaced(program: Program) -> list[Life] | None:
    """Buffers for which `allocate` finds no room without rewriting operations, beside all others; None if it cannot
    even choose memories. Nothing is changed."""
    open_ = [buffer for buffer in program.buffers if buffer.memory is None or buffer.base is None]
    before = [(buffer, buffer.memory, buffer.base, buffer.choices) for buffer in open_]
    chains = find_chains(program.operations)
    promote_buffers(program, chains)
    try:
        lives = lives_of(program, pinned_first=True, chains=chains)
        _packed(lives, TIGHT)
    except InternalError:
        return None
    except _Unpacked as failure:
        return list(_left_over(lives, failure.chosen))
    finally:
        _take_back(before)
    return []


def _left_over(lives: list[Life], chosen: dict[Life, Memory]) -> Iterator[Life]:
    """Buffers without room in the memories that were chosen, of all memories that do not pack."""
    for memory, members in _by_memory(lives, chosen).items():
        if pack(members, longs := chip().memories[memory].longs) is None:
            yield from left_over(members, longs)


def _promote_and_allocate(program: Program, *, pinned_first: bool, only_tight: bool) -> None:
    """`allocate` without relief. If it raises, no buffer has an address that it had not before."""
    open_ = [buffer for buffer in program.buffers if buffer.memory is None or buffer.base is None]
    fixed = [(buffer, buffer.memory, buffer.base, buffer.choices) for buffer in open_]
    tights = TIGHT[1:] if only_tight else TIGHT
    chains = find_chains(program.operations)
    promoted = promote_buffers(program, chains)
    try:
        _allocate(program, lives_of(program, pinned_first=pinned_first, chains=chains), tights)
    except (CapacityError, InternalError):
        _take_back(fixed)
        if not promoted:
            raise
        _allocate(program, lives_of(program, pinned_first=pinned_first, chains=chains), tights)


def _take_back(fixed: Iterable[tuple[Buffer, Memory | None, int | None, tuple[Memory, ...]]]) -> None:
    for buffer, memory, base, choices in fixed:
        buffer.memory, buffer.base, buffer.choices = memory, base, choices


class _Unpacked(Exception):
    """Buffers of a memory do not pack, by the memories that were chosen."""

    def __init__(self, chosen: dict[Life, Memory], memory: Memory) -> None:
        super().__init__(memory)
        self.chosen, self.memory = chosen, memory


def _packed(lives: list[Life], tights: Sequence[bool]) -> tuple[dict[Life, Memory], dict[Life, int]]:
    """Memories and addresses, with the first of `tights` (see `choose_memories`) for which there are any, or with
    memories that are `balanced` after that. Raises _Unpacked."""
    failure: _Unpacked | None = None
    for tight in tights:
        chosen = choose_memories(lives, tight=tight)
        try:
            return _packed_as_chosen(lives, chosen)
        except _Unpacked as error:
            failure = error
        for spare in SPARE:
            if (better := balanced(lives, chosen, spare)) is not None:
                with suppress(_Unpacked):
                    return _packed_as_chosen(lives, better)
    assert failure is not None
    raise failure


def _packed_as_chosen(
    lives: list[Life], chosen: dict[Life, Memory]
) -> tuple[dict[Life, Memory], dict[Life, int]]:
    bases: dict[Life, int] = {}
    for memory, members in _by_memory(lives, chosen).items():
        placed = pack(members, chip().memories[memory].longs)
        if placed is None:
            raise _Unpacked(chosen, memory)
        bases.update(placed)
    return chosen, bases


def _by_memory(lives: list[Life], chosen: dict[Life, Memory]) -> dict[Memory, list[Life]]:
    found: dict[Memory, list[Life]] = {}
    for life in lives:
        found.setdefault(chosen[life], []).append(life)
    return found


def _allocate(program: Program, lives: list[Life], tights: Sequence[bool]) -> None:
    try:
        chosen, bases = _packed(lives, tights)
    except _Unpacked as failure:
        raise _refusal(program, lives, failure.chosen, failure.memory) from None
    for life, base in bases.items():
        life.buffer.memory, life.buffer.base = chosen[life], base


def _refusal(program: Program, lives: list[Life], chosen: dict[Life, Memory], memory: Memory) -> CapacityError:
    needed, who = peak([life for life in lives if chosen[life] is memory])
    owners = _owners(program)
    shown = [(owners.get(life.buffer, life.buffer.name), life.buffer.size) for life in who]
    error = CapacityError((memory,), needed, chip().memories[memory].longs, shown)
    error.node = _worst(program, who)
    error.alive = [life.buffer for life in who]
    error.beside = needed + _beside(lives, who, chosen, memory)
    return error


def _beside(lives: list[Life], alive: list[Life], chosen: dict[Life, Memory], memory: Memory) -> int:
    """Long words in the other local memory while all of `alive` are in this one."""
    moment = max((life.first for life in alive), default=0)
    others = [life for life in lives if chosen[life] in LOCAL_MEMORY and chosen[life] is not memory]
    return sum(life.buffer.size for life in others if life.first <= moment <= life.last)


def _owners(program: Program) -> dict[Buffer, str]:
    """The node of each buffer: that of the first operation that fills it, else of the first that reads it."""
    owners: dict[Buffer, str] = {}
    for operands in ("destinations", "sources"):
        for op in program.operations:
            for operand in getattr(op, operands):
                if op.location and isinstance(operand, BufferOperand):
                    owners.setdefault(operand.buffer, f"'{op.location}'")
    return owners


def _worst(program: Program, alive: list[Life]) -> str | None:
    """Node of the operation at which all of these are alive: the last of them has just begun."""
    if not alive or not program.operations:
        return None
    place = max(0, *(life.first for life in alive))  # pinned ones begin before the first
    return program.operations[place].location or None
