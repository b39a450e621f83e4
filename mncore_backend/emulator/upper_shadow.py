"""Poison of L1BM, L2BM and PDM: one bit "clean" per long word for the checks, and four poison bits behind it.

The poison bits of a long word count only where it is not clean; `sync` brings them up to date before they are moved,
`settle` takes over what a move left. DRAM pages carry their own (see `dram`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.plan import UpperAccess
from mnc.mncore_backend.emulator.taint import FULL, Nibbles, Origin
from mnc.mncore_backend.target import cached_per_machine

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.state import State

ORIGIN_LONGS = 16
"""Long words that share the note of where their poison comes from."""


@cached_per_machine()
def _all_blocks() -> np.uint64:
    return np.uint64((1 << geometry().blocks) - 1)


@cached_per_machine()
def _block_bits() -> NDArray[np.uint64]:
    return np.arange(geometry().blocks, dtype=np.uint64)[:, None]


@cached_per_machine()
def _shapes() -> dict[Memory, tuple[int, int]]:
    own = geometry()
    return {
        Memory.L1BM: (own.blocks, own.l1bm_longs),
        Memory.L2BM: (own.l2bs, own.l2bm_longs),
        Memory.PDM: (own.groups, own.pdm_longs),
    }


class UpperShadow:
    """`l1bm` has a bit per block for every long word, `l2bm` and `pdm` a truth value per long word: clean.

    `epoch` counts the events that may have poisoned something: what was clean before, and written since by clean steps
    only, is clean as long as the epoch lasts.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.l1bm = np.zeros(geometry().l1bm_longs, np.uint64)
        self.l2bm = np.zeros((geometry().l2bs, geometry().l2bm_longs), np.bool_)
        self.pdm = np.zeros((geometry().groups, geometry().pdm_longs), np.bool_)
        self.upper_origins: dict[tuple[Memory, int], Origin] = {}
        self._upper: dict[Memory, Nibbles] = {}

    # ---- clean ----

    def is_clean_upper(self, access: UpperAccess) -> bool:
        """Are the long words of an access clean in every L1BM?"""
        for first in access.firsts:
            if np.bitwise_and.reduce(self.l1bm[ring(first, access.count, geometry().l1bm_longs)]) != _all_blocks():
                return False
        return True

    def mark_upper_access(self, access: UpperAccess) -> None:
        """Note that every L1BM got clean long words."""
        for first in access.firsts:
            self.l1bm[ring(first, access.count, geometry().l1bm_longs)] = _all_blocks()

    def is_clean_set(self, members: tuple[int, ...], first: int, count: int) -> bool:
        """Are long words of the L1BMs of a set of L1Bs clean in every L2B?"""
        bits = _bits_of(members)
        return (np.bitwise_and.reduce(self.l1bm[ring(first, count, geometry().l1bm_longs)]) & bits) == bits

    def mark_set(self, members: tuple[int, ...], first: int, count: int) -> None:
        """Note clean long words in the L1BMs of a set of L1Bs in every L2B."""
        self.l1bm[ring(first, count, geometry().l1bm_longs)] |= _bits_of(members)

    def upper_bits(self, memory: Memory) -> NDArray[np.bool_]:
        """The clean bits of L2BM or PDM, [instance, long word]."""
        return self.l2bm if memory is Memory.L2BM else self.pdm

    def is_clean_run(self, memory: Memory, instance: int, first: int, count: int) -> bool:
        """Is a run of L2BM or PDM clean?"""
        return bool(self.upper_bits(memory)[instance, first : first + count].all())

    def mark_run(self, memory: Memory, instance: int, first: int, count: int) -> None:
        """Note a run of clean long words in L2BM or PDM."""
        self.upper_bits(memory)[instance, first : first + count] = True

    def mark_upper(self) -> None:
        """Take L1BM, L2BM and PDM as clean."""
        self.l1bm[:] = _all_blocks()
        self.l2bm[:] = True
        self.pdm[:] = True

    def mark_upper_host(self, memory: Memory, address: int, count: int) -> None:
        """Note that the host wrote every instance of L1BM, L2BM or PDM."""
        if memory is Memory.L1BM:
            self.l1bm[address : address + count] = _all_blocks()
        elif memory in (Memory.L2BM, Memory.PDM):
            self.upper_bits(memory)[:, address : address + count] = True

    # ---- poison ----

    def upper(self, memory: Memory) -> Nibbles:
        """Poison bits [instance, long word], valid where they were synced last."""
        if memory not in self._upper:
            self._upper[memory] = np.full(_shapes()[memory], FULL, np.uint8)
        return self._upper[memory]

    def sync(self, memory: Memory, at: slice | NDArray[np.int64]) -> Nibbles:
        """Bring the poison bits of long words of every instance up to date; returns a copy of them."""
        nibbles = self.upper(memory)
        if memory is Memory.L1BM:
            clean = (self.l1bm[at][None, :] >> _block_bits() & np.uint64(1)).astype(np.bool_)
        else:
            clean = self.upper_bits(memory)[:, at]
        part = np.where(clean, np.uint8(0), nibbles[:, at])
        nibbles[:, at] = part
        return part

    def settle(self, memory: Memory, at: slice | NDArray[np.int64], origin: Origin | None) -> None:
        """Take over poison bits of long words of every instance that a move changed."""
        self.epoch += 1
        clean = self.upper(memory)[:, at] == 0
        if memory is Memory.L1BM:
            self.l1bm[at] = np.bitwise_or.reduce(clean.astype(np.uint64) << _block_bits(), axis=0)
        else:
            self.upper_bits(memory)[:, at] = clean
        if origin is not None and not clean.all():
            addresses = np.arange(_shapes()[memory][1])[at] if isinstance(at, slice) else at
            for group in set((addresses // ORIGIN_LONGS).tolist()):
                self.upper_origins[memory, group] = origin

    def origin_of_upper(self, memory: Memory, address: int, line: int) -> Origin:
        """Where the poison at a long word comes from; this line if nobody wrote it."""
        name = "lb" if memory is Memory.L1BM else memory.value
        return self.upper_origins.get((memory, address // ORIGIN_LONGS), (line, f"long word {address} of ${name}"))


def ring(first: int, count: int, size: int) -> "slice | NDArray[np.int64]":
    """Long words from `first` on, wrapping at `size`."""
    if first + count <= size:
        return slice(first, first + count)
    return np.arange(first, first + count) % size


def _bits_of(members: Sequence[int]) -> np.uint64:
    one = sum(1 << member for member in members)
    return np.uint64(sum(one << (geometry().l1bs_per_l2b * l2b) for l2b in range(geometry().l2bs)))


class _DramPoison:
    """Poison of one DRAM with the interface of `Dram`."""

    def __init__(self, state: "State", group: int) -> None:
        self._dram = state.dram[group]

    def read(self, address: int, count: int) -> Nibbles:
        return self._dram.poison(address, count)

    def write(self, address: int, values: Nibbles) -> None:
        self._dram.write_poison(address, values)


class PoisonState:
    """The poison of the memories above the PEs in the shape of `State`: transfers move it like values."""

    def __init__(self, shadow: UpperShadow, state: "State") -> None:
        self._shadow = shadow
        self.dram = [_DramPoison(state, group) for group in range(geometry().groups)]
        self.dar = state.dar

    @property
    def l2bm(self) -> Nibbles:
        return self._shadow.upper(Memory.L2BM)

    @property
    def pdm(self) -> Nibbles:
        return self._shadow.upper(Memory.PDM)

    def longs(self, memory: Memory) -> Nibbles:
        """L1BM as [L2B, L1B, long word]."""
        return self._shadow.upper(memory).reshape(geometry().l2bs, geometry().l1bs_per_l2b, -1)
