"""Buffers change sides where one memory overflows and another one has room.

A colouring takes one buffer after the other and goes back only where conflicts leave no memory at all: it may have put
three large buffers into one memory that live beside a small one in the other. Here one buffer moves at a time, and with
it those that it must not meet there, which come to where it was (a Kempe chain), as long as that leaves less overflow.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation.lifetimes import Life
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import chip

_MOVES = 256
"""How often buffers change sides at most."""
_TRIED = 32
"""Of how many buffers that are there at the worst moment it is tried, the largest first."""
_CHAIN = 64
"""Buffers that change sides together at most."""

Chosen = dict[Life, Memory]


def balanced(lives: list[Life], chosen: Mapping[Life, Memory], spare: float = 0.0) -> Chosen | None:
    """Memories that hold all that lives in them at any time, made from those that were `chosen`; None if none are
    found, or nothing overflows. `spare`: part of each memory that is left free, because sizes may not pack."""
    sides = _Sides(lives, dict(chosen), spare)
    if not sides.overflow:
        return None
    for _ in range(_MOVES):
        if not sides.move():
            return None
        if not sides.overflow:
            return sides.chosen
    return None


class _Sides:
    """Which memory each buffer lives in, and how full memories are over time (long words)."""

    def __init__(self, lives: list[Life], chosen: Chosen, spare: float) -> None:
        self.chosen = chosen
        self._moments = np.unique([place for life in lives for place in (life.first, life.last)])
        self._time = {life: self._moments_of(life) for life in lives}
        memories = {memory for life in lives for memory in (*life.choices, chosen[life])}
        self._room = {memory: int(chip().memories[memory].longs * (1 - spare)) for memory in memories}
        self._fullness = {memory: np.zeros(len(self._moments), np.int64) for memory in memories}
        for life, memory in chosen.items():
            self._fullness[memory][self._time[life]] += life.buffer.size

    def _moments_of(self, life: Life) -> slice:
        """What ends where others begin gives them its place (see `Life.overlaps`)."""
        first, last = (int(place) for place in np.searchsorted(self._moments, (life.first, life.last)))
        return slice(first, max(last, first + 1))

    @property
    def overflow(self) -> int:
        """Long words without room, summed over all moments and memories."""
        return sum(int(np.maximum(own - self._room[memory], 0).sum()) for memory, own in self._fullness.items())

    def move(self) -> bool:
        """Let those buffers change sides that leave the least overflow; False if none leave less than there is."""
        least, best = self.overflow, None
        for chain in self._chains():
            back = self._put(chain)
            if (left := self.overflow) < least:
                least, best = left, chain
            self._put(back)
        if best is not None:
            self._put(best)
        return best is not None

    def _put(self, memories: Chosen) -> Chosen:
        """Buffers to these memories; where they came from."""
        before = {life: self.chosen[life] for life in memories}
        for life, memory in memories.items():
            self._fullness[before[life]][self._time[life]] -= life.buffer.size
            self._fullness[memory][self._time[life]] += life.buffer.size
        self.chosen.update(memories)
        return before

    def _chains(self) -> Iterator[Chosen]:
        """What can change sides at the worst moment, and where it goes."""
        full, moment = self._worst()
        there = (life for life, memory in self.chosen.items() if memory is full and len(life.choices) > 1)
        alive = [life for life in there if self._time[life].start <= moment < self._time[life].stop]
        for life in sorted(alive, key=lambda own: -own.buffer.size)[:_TRIED]:
            for memory in life.choices:
                if memory is not full and (chain := self._chain(life, memory)) is not None:
                    yield chain

    def _worst(self) -> tuple[Memory, int]:
        """The memory that overflows most, and when it does."""
        over = {memory: own - self._room[memory] for memory, own in self._fullness.items()}
        full = max(over, key=lambda memory: int(over[memory].max()))
        return full, int(over[full].argmax())

    def _chain(self, life: Life, memory: Memory) -> Chosen | None:
        """A buffer that goes to a memory, and all that have to change places with it; None if one of them cannot."""
        pair = {memory: (full := self.chosen[life]), full: memory}
        chain = {life: memory}
        waiting = [life]
        while waiting and len(chain) <= _CHAIN:
            own = waiting.pop()
            target = chain[own]
            if target not in own.choices:
                return None
            for other in _conflicting(own, target):
                if other not in chain and self.chosen[other] is target:
                    chain[other] = pair[target]
                    waiting.append(other)
        return None if waiting else chain


def _conflicting(life: Life, memory: Memory) -> Iterator[Life]:
    """Buffers that must not be in this memory beside one."""
    yield from life.apart
    if memory in LOCAL_MEMORY:
        yield from life.away
