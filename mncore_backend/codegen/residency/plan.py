"""Residency in time: which values leave local memory between two uses, and when they come back.

A plain function over sizes and places in the program order; nothing here knows of MLIR or of the machine. Values leave
as late as possible, when somebody else needs the room, and the one goes whose absence saves the most room for the
longest time (Belady's rule, weighed by size). What DRAM holds anyway is dropped without a store.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

CLEAN_GAIN = 2.0
"""How much rather a value goes that DRAM holds already: it costs a load, others a store and a load."""


class Kind(StrEnum):
    """What happens to a value."""

    SPILL = "spill"  # it is stored, its room is free
    DROP = "drop"  # DRAM holds it already, its room is free
    FETCH = "fetch"  # it comes back from DRAM


@dataclass(frozen=True, slots=True)
class Use:
    """One operation that uses a value: its place in the program, and whether it writes the value."""

    place: int
    writes: bool


@dataclass(frozen=True, slots=True)
class Value:
    """What needs local memory: its size (long words of a PE) and its uses in program order. `loaded`: the first use
    brings it from DRAM, which keeps it. `pinned`: it stays where it is, always; `stays`: from first to last use."""

    name: str
    size: int
    uses: tuple[Use, ...]
    loaded: bool = False
    pinned: bool = False
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """What to do right before the operation at `place`, with value number `value`."""

    place: int
    kind: Kind
    value: int


class NoRoom(Exception):
    """One operation alone needs more than there is.

    Attributes:
        place: the operation.
        needed: long words of a PE that it needs.
        values: numbers of the values that it uses.
    """

    def __init__(self, place: int, needed: int, values: list[int]) -> None:
        super().__init__(f"the operation at {place} needs {needed} long words")
        self.place, self.needed, self.values = place, needed, values


@dataclass(slots=True)
class _State:
    """A value while the program is walked: whether it is there, and whether DRAM has what it holds now."""

    value: Value
    next: int = 0  # number of its next use
    resident: bool = False
    clean: bool = False

    @property
    def next_place(self) -> int | None:
        return self.value.uses[self.next].place if self.next < len(self.value.uses) else None


@dataclass(slots=True)
class _Walk:
    """The program order, walked once."""

    states: list[_State]
    capacity: int
    actions: list[Action] = field(default_factory=list)
    alive: dict[int, _State] = field(default_factory=dict)  # those that are resident

    def at(self, place: int, used: Sequence[int]) -> None:
        """Make room for the operation at `place`, which uses `used`; then pass it."""
        for number in used:
            state = self.states[number]
            if not state.resident:
                if state.next > 0:
                    self.actions.append(Action(place, Kind.FETCH, number))
                    state.clean = True
                state.resident = True
                self.alive[number] = state
        self._make_room(place, used)
        for number in used:
            self._pass(number)

    def _make_room(self, place: int, used: Sequence[int]) -> None:
        needed = self._needed(place, used)
        waiting = {n: s for n, s in self.alive.items() if n not in used and not (s.value.pinned or s.value.stays)}
        while needed > self.capacity:
            if not waiting:
                raise NoRoom(place, needed, list(used))
            number = max(waiting, key=lambda n: (self._gain(waiting[n], place), -n))
            state = waiting.pop(number)
            self.actions.append(Action(place, Kind.DROP if state.clean else Kind.SPILL, number))
            state.resident, state.clean = False, True
            del self.alive[number]
            needed -= state.value.size

    def _needed(self, place: int, used: Sequence[int]) -> int:
        """Long words in use at an operation. What it reads last may share memory with what it writes first."""
        born = dying = 0
        for number in used:
            state = self.states[number]
            if state.value.pinned:
                continue
            first, last = state.next == 0, state.next == len(state.value.uses) - 1
            born += state.value.size if first and not last else 0
            dying += state.value.size if last and not first else 0
        return sum(state.value.size for state in self.alive.values()) - min(born, dying)

    @staticmethod
    def _gain(state: _State, place: int) -> float:
        later = state.next_place
        assert later is not None  # what has no use left is not alive
        return (later - place) * state.value.size * (CLEAN_GAIN if state.clean else 1.0)

    def _pass(self, number: int) -> None:
        state = self.states[number]
        use = state.value.uses[state.next]
        state.clean = (state.value.loaded and state.next == 0) or (state.clean and not use.writes)
        state.next += 1
        if state.next_place is None and not state.value.pinned:
            state.resident = False
            del self.alive[number]


def plan_residency(values: Sequence[Value], capacity: int) -> list[Action]:
    """What leaves local memory and comes back, so that never more than `capacity` long words of a PE are in use.

    Actions are in program order; at one place fetches and departures may be mixed, and all of them together hold.

    Raises:
        NoRoom: an operation alone does not fit.
    """
    states = [_State(value) for value in values]
    users: dict[int, list[int]] = {}
    for number, value in enumerate(values):
        for use in value.uses:
            users.setdefault(use.place, []).append(number)
    walk = _Walk(states, capacity)
    for number, state in enumerate(states):
        if state.value.pinned:
            state.resident = True
            walk.alive[number] = state
    for place in sorted(users):
        walk.at(place, users[place])
    return walk.actions
