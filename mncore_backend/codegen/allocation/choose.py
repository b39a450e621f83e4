"""Which memory each buffer lives in: a colouring of the conflict graph that balances sizes.

The most constrained buffer goes first (DSATUR order, D. Brélaz, 1979: exact where every buffer has two choices); when a
buffer is left without a memory, the search goes back, up to a limit.
"""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import NoReturn

import numpy as np

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation.lifetimes import Life
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE
from mnc.mncore_backend.target import chip

_BUCKETS = 512  # resolution of the load profile over the program
_PREFER_REGISTERS = 0.5  # a buffer that may live in LM or GRF goes to LM when GRF is fuller than LM by this much
_MEETING = 0.4  # how much fuller a memory may be from which nothing is read while a buffer arrives
_SHARING = 4.0  # the same for sums and the matrices of their products, which wait for each other in that memory
_FULL = 0.8  # fullness from which only that counts
_SEARCH_LIMIT = 20_000


class _Load:
    """How full each memory is over time, as a fraction of its capacity."""

    def __init__(self, end: int) -> None:
        self._scale = _BUCKETS / max(end + 2, 1)
        self._profile: dict[Memory, np.ndarray] = {}

    def _part(self, life: Life, memory: Memory) -> np.ndarray:
        profile = self._profile.setdefault(memory, np.zeros(_BUCKETS))
        first, last = int((life.first + 1) * self._scale), int((life.last + 1) * self._scale)
        return profile[first : max(last, first + 1)]

    def cost(self, life: Life, memory: Memory) -> float:
        """Fullness after the buffer would have been added."""
        cost = float(self._part(life, memory).max()) + life.buffer.size / chip().memories[memory].longs
        if memory in LOCAL_MEMORY and any(m in REGISTER_FILE for m in life.choices):
            cost += _PREFER_REGISTERS
        return cost

    def cost_beside(self, life: Life, memory: Memory, chosen: Mapping[Life, Memory]) -> float:
        """The same, and how much of what is read while the buffer arrives is in that memory."""
        cost = self.cost(life, memory)
        if memory not in LOCAL_MEMORY or cost > 1:
            return cost
        cost += _SHARING * sum(share for other, share in life.shares.items() if chosen.get(other) is memory)
        if cost > _FULL:
            return cost
        return cost + _MEETING * sum(share for other, share in life.meets.items() if chosen.get(other) is memory)

    def excess(self, life: Life, memory: Memory) -> float:
        """How much, summed over time, would not fit for this buffer."""
        part = self._part(life, memory)
        size = life.buffer.size / chip().memories[memory].longs
        return float((np.maximum(part + size, 1) - np.maximum(part, 1)).sum())

    def add(self, life: Life, memory: Memory, sign: int = 1) -> None:
        part = self._part(life, memory)
        part += sign * life.buffer.size / chip().memories[memory].longs


def choose_memories(lives: list[Life], *, tight: bool = False) -> dict[Life, Memory]:
    """A memory for every buffer. `tight`: room alone counts, and what has a choice waits for what has none. Raises
    InternalError if the operands of some step cannot be kept apart."""
    end = max((life.last for life in lives), default=0)
    load = _Load(end)
    chosen: dict[Life, Memory] = {}
    free = []
    for life in lives:
        if len(life.choices) == 1:
            memory = life.choices[0]
            if not life.allows(memory, chosen):
                _report(life, chosen)
            chosen[life] = memory
            load.add(life, memory)
        else:
            free.append(life)
    components = _components(free)
    if tight:
        components.sort(key=lambda own: all(life.allows(m, chosen) for life in own for m in life.choices))
    for component in components:
        _colour(component, chosen, load, tight=tight)
    return chosen


def _components(lives: list[Life]) -> list[list[Life]]:
    """Buffers connected by conflicts: those with sums of products first, then large ones."""
    left = dict.fromkeys(lives)
    found = []
    while left:
        queue = [next(iter(left))]
        del left[queue[0]]
        for life in queue:
            for other in (*life.apart, *life.away):
                if other in left:
                    del left[other]
                    queue.append(other)
        found.append(queue)
    return sorted(found, key=lambda c: (not any(l.is_sum for l in c), -sum(life.buffer.size for life in c)))


def _colour(component: list[Life], chosen: dict[Life, Memory], load: _Load, *, tight: bool) -> None:
    """Depth-first search over the memories of a component, most constrained buffer first."""
    trail: list[tuple[Life, list[Memory]]] = []
    left = set(component)
    order = {life: i for i, life in enumerate(component)}
    options = {life: [m for m in life.choices if life.allows(m, chosen)] for life in component}
    heap: list[tuple[int, int, int]] = []

    def refresh(lives: Iterable[Life]) -> None:
        for other in lives:
            if other in left:
                options[other] = [m for m in other.choices if other.allows(m, chosen)]
                heappush(heap, (len(options[other]), -other.buffer.size, order[other]))

    refresh(component)
    for _ in range(_SEARCH_LIMIT + 2 * len(component)):
        if not left:
            return
        count, _, number = heappop(heap)
        life = component[number]
        if life not in left or count != len(options[life]):
            continue
        ranked = sorted(options[life], key=lambda m: load.cost_beside(life, m, chosen))
        if tight:
            ranked.sort(key=lambda m: load.excess(life, m))
        left.discard(life)
        while not ranked:
            if not trail:
                _report(life, chosen)
            left.add(life)
            back, ranked = trail.pop()
            load.add(back, chosen.pop(back), -1)
            refresh((life, *back.apart, *back.away))
            life = back
        chosen[life] = ranked[0]
        load.add(life, ranked[0])
        trail.append((life, ranked[1:]))
        refresh((*life.apart, *life.away))
    _report(next(iter(left)), chosen)


def _report(life: Life, chosen: dict[Life, Memory]) -> NoReturn:
    others = [*life.apart, *life.away]
    placed = ", ".join(f"{o.buffer.name} in {chosen[o].name}" for o in others if o in chosen)
    names = ", ".join(m.name for m in life.choices)
    where = placed or "its neighbours"
    raise InternalError(f"no memory of {names} is left for buffer {life.buffer.name} beside {where}")
