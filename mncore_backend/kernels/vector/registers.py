"""Slots of the register files for the virtual registers of one group of four iterations."""

from collections import deque
from dataclasses import dataclass

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.vector.placed import Place, Placed
from mnc.mncore_backend.program import REGISTER_FILE

MASK_ENTRIES = 15


@dataclass(frozen=True, slots=True)
class Slots:
    """`slot[register, file]` and the number of slots per file."""

    slot: dict[tuple[int, Memory], int]
    count: dict[Memory, int]


def assign_slots(sequence: list[Placed], spare: int = 0) -> Slots:
    """Linear scan over the operations of a group. Freed slots are reused in first-in first-out order, and `spare`
    extra slots per file are used before that: reuse orders operations that are otherwise independent."""
    ends = _last_uses(sequence)
    free: dict[Memory, deque[int]] = {file: deque(range(spare)) for file in REGISTER_FILE}
    count: dict[Memory, int] = {Memory.GRF0: spare, Memory.GRF1: spare}
    slot: dict[tuple[int, Memory], int] = {}
    for index, placed in enumerate(sequence):
        touched = [p for p in (*placed.sources, *placed.destinations) if p.kind == "register"]
        for place in placed.destinations:
            if place.kind == "register" and _key(place) not in slot:
                file = _key(place)[1]
                if not free[file]:
                    free[file].append(count[file])
                    count[file] += 1
                slot[_key(place)] = free[file].popleft()
        for key in dict.fromkeys(_key(place) for place in touched):
            if ends[key] == index:
                free[key[1]].append(slot[key])
    return Slots(slot, count)


def greatest_flag_count(sequence: list[Placed]) -> int:
    """How many mask registers a group needs at the same time."""
    events: dict[int, list[int]] = {}
    for index, placed in enumerate(sequence):
        for flag in flags_of(placed):
            events.setdefault(flag, []).append(index)
    ranges = [(used[0], used[-1]) for used in events.values()]
    return max((sum(first <= i <= last for first, last in ranges) for i, _ in ranges), default=0)


def flags_of(placed: Placed) -> list[int]:
    """Flags an operation reads or writes."""
    instruction = placed.instruction
    flags = (instruction.flag, instruction.write_flag, instruction.zero_flag)
    return [flag for flag in dict.fromkeys(flags) if flag is not None]


def _key(place: Place) -> tuple[int, Memory]:
    assert place.memory is not None
    return place.number, place.memory


def _last_uses(sequence: list[Placed]) -> dict[tuple[int, Memory], int]:
    ends: dict[tuple[int, Memory], int] = {}
    for index, placed in enumerate(sequence):
        for place in (*placed.sources, *placed.destinations):
            if place.kind == "register":
                ends[_key(place)] = index
    return ends
