"""Which words were ever written: strict mode refuses to read the others.

All PEs execute the same statements, so most writes reach every PE: one byte per word address (`state`) says "nowhere",
"everywhere" or "somewhere". Only "somewhere" needs a bit per PE (`detail`), allocated when it first occurs. L1BM keeps
a 64-bit set of blocks per long word, L2BM and PDM a bit per long word; DRAM pages carry their own.
"""

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.errors import EmulationError, block_text, coordinates_text
from mnc.mncore_backend.emulator.geometry import (
    BLOCKS,
    CYCLES,
    GROUPS,
    L1BM_LONGS,
    L2BM_LONGS,
    L2BS,
    LOCAL_LONGS,
    MASK_ENTRIES,
    PDM_LONGS,
    PES,
    REGISTER_LONGS,
)
from mnc.mncore_backend.emulator.plan import Access, UpperAccess

NOWHERE, EVERYWHERE, SOMEWHERE = 0, 1, 2
ALL_BLOCKS = np.uint64((1 << 64) - 1)
WORDS = {
    Memory.LM0: 2 * LOCAL_LONGS,
    Memory.LM1: 2 * LOCAL_LONGS,
    Memory.GRF0: 2 * REGISTER_LONGS,
    Memory.GRF1: 2 * REGISTER_LONGS,
    Memory.T: 4 * CYCLES,
    Memory.MASK: MASK_ENTRIES * CYCLES,
}


class UninitialisedRead(EmulationError):
    """A memory that was never written is read."""


class Shadow:
    """Written bits of every memory. When `enabled` is false nothing is kept or checked (vendor mode)."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.state = {memory: bytearray(size) for memory, size in WORDS.items()}
        self.detail: dict[Memory, NDArray[np.bool_]] = {}
        self.l1bm = np.zeros(L1BM_LONGS, np.uint64)
        self.l2bm = np.zeros((L2BS, L2BM_LONGS), np.bool_)
        self.pdm = np.zeros((GROUPS, PDM_LONGS), np.bool_)
        self.line = 0
        self.file_name = "<program>"
        self._everywhere = {width: bytes([EVERYWHERE]) * width for width in range(1, 17)}

    # ---- PE memories ----

    def check(self, access: Access) -> None:
        """Raise UninitialisedRead unless every word of a static read was written."""
        state, width = self.state[access.memory], access.width
        everywhere = self._everywhere[width]
        for first in access.words:
            if state[first : first + width] != everywhere:
                self._check_words(access.memory, range(first, first + width))

    def _check_words(self, memory: Memory, words: range) -> None:
        state = self.state[memory]
        for word in words:
            if state[word] == EVERYWHERE:
                continue
            if state[word] == NOWHERE:
                self._fail(memory, word, 0, 0)
            detail = self.detail[memory][:, word]
            if not detail.all():
                block, pe = (int(i) for i in np.argwhere(~detail)[0])
                self._fail(memory, word, block, pe)
            state[word] = EVERYWHERE

    def _fail(self, memory: Memory, word: int, block: int, pe: int) -> None:
        name = f"word {word} of ${memory.value}"
        if memory is Memory.T:
            name = f"entry {word // 4} of $t"
        elif memory is Memory.MASK:
            name = f"cycle {word % CYCLES} of mask register {word // CYCLES}"
        raise UninitialisedRead(
            f"{name} is read but was never written",
            self.line,
            self.file_name,
            block_text(block, pe),
            "uninitialised-read",
            "write it first, or run in vendor mode, where PE memories start at zero",
        )

    def mark(self, access: Access) -> None:
        """Note an unmasked write with static addresses."""
        state, width = self.state[access.memory], access.width
        everywhere = self._everywhere[width]
        for first in access.words:
            state[first : first + width] = everywhere

    def is_everywhere(self, access: Access) -> bool:
        """Are all words of an access already written in every PE?"""
        state, width = self.state[access.memory], access.width
        everywhere = self._everywhere[width]
        return all(state[first : first + width] == everywhere for first in access.words)

    def details(self, memory: Memory) -> NDArray[np.bool_]:
        """Written bits per block, word and PE of one memory."""
        if memory not in self.detail:
            size = WORDS[memory]
            known = np.frombuffer(bytes(self.state[memory]), np.uint8) == EVERYWHERE
            self.detail[memory] = np.broadcast_to(known[None, :, None], (BLOCKS, size, PES)).copy()
        return self.detail[memory]

    def mark_words(self, memory: Memory, words: range, where: NDArray[np.bool_]) -> None:
        """Note writes of the same words in the PEs where [block, PE] is true."""
        if not self.enabled:
            return
        state = self.state[memory]
        for word in words:
            if state[word] == EVERYWHERE:
                continue
            detail = self.details(memory)[:, word]
            if state[word] == NOWHERE:
                detail[:] = False
            detail |= where
            state[word] = EVERYWHERE if detail.all() else SOMEWHERE

    def check_dynamic(self, memory: Memory, words: NDArray[np.int64], width: int) -> None:
        """Check data-dependent addresses, first words [block, cycle, PE]."""
        if not self.enabled:
            return
        state = np.frombuffer(self.state[memory], np.uint8)
        for offset in range(width):
            at = words + offset
            known = state[at]
            missing = known == NOWHERE
            if (known == SOMEWHERE).any():
                missing |= (known == SOMEWHERE) & ~np.take_along_axis(self.details(memory), at, axis=1)
            if missing.any():
                block, cycle, pe = (int(i) for i in np.argwhere(missing)[0])
                self._fail(memory, int(at[block, cycle, pe]), block, pe)

    def mark_dynamic(self, memory: Memory, words: NDArray[np.int64], width: int, keep: NDArray[np.uint64]) -> None:
        """Note a scatter; PEs whose mask lets nothing through wrote nothing."""
        if not self.enabled:
            return
        state = np.frombuffer(self.state[memory], np.uint8)
        touched = np.unique(words)
        if all((state[touched + offset] == EVERYWHERE).all() for offset in range(width)):
            return
        block, cycle, pe = np.nonzero(keep)
        first = words[block, cycle, pe]
        detail = self.details(memory)
        for word in {int(w) + offset for w in touched for offset in range(width)}:
            if self.state[memory][word] == NOWHERE:
                detail[:, word] = False
        for offset in range(width):
            detail[block, first + offset, pe] = True
        for word in {int(w) + offset for w in np.unique(first) for offset in range(width)}:
            self.state[memory][word] = EVERYWHERE if detail[:, word].all() else SOMEWHERE

    # ---- L1BM ----

    def check_upper(self, access: UpperAccess) -> None:
        """Check or note an access of every L1B to the same long words of its L1BM."""
        for first in access.firsts:
            at = slice(first, first + access.count)
            if first + access.count > L1BM_LONGS:
                at = np.arange(first, first + access.count) % L1BM_LONGS
            if access.write:
                self.l1bm[at] = ALL_BLOCKS
                continue
            known = np.bitwise_and.reduce(self.l1bm[at])
            if known != ALL_BLOCKS:
                self._fail_l1bm(first, access.count)

    def _fail_l1bm(self, first: int, count: int, members: int = (1 << 64) - 1) -> None:
        for long in range(first, first + count):
            missing = ~int(self.l1bm[long % L1BM_LONGS]) & members
            if missing:
                block = (missing & -missing).bit_length() - 1
                self._fail_long("lb", long % L1BM_LONGS, block_text(block))

    def l1bm_set(self, members: tuple[int, ...], first: int, count: int, write: bool) -> None:
        """Check or note long words of the L1BMs of a set of L1Bs in every L2B."""
        one = sum(1 << member for member in members)
        bits = np.uint64(sum(one << (8 * l2b) for l2b in range(L2BS)))
        at = np.arange(first, first + count) % L1BM_LONGS
        if write:
            self.l1bm[at] |= bits
        elif (np.bitwise_and.reduce(self.l1bm[at]) & bits) != bits:
            self._fail_l1bm(first, count, int(bits))

    # ---- L2BM, PDM, host ----

    def mark_everything(self) -> None:
        """Take every memory but DRAM as written."""
        for memory, state in self.state.items():
            state[:] = bytes([EVERYWHERE]) * WORDS[memory]
        self.l1bm[:] = ALL_BLOCKS
        self.l2bm[:] = True
        self.pdm[:] = True

    def mark_host(self, memory: Memory, address: int, count: int) -> None:
        """Note that the host wrote long words of every instance of a memory."""
        if memory in WORDS and memory is not Memory.T:
            self.state[memory][2 * address : 2 * (address + count)] = bytes([EVERYWHERE]) * (2 * count)
        elif memory is Memory.T:
            self.state[memory][:] = bytes([EVERYWHERE]) * len(self.state[memory])
        elif memory is Memory.L1BM:
            self.l1bm[address : address + count] = ALL_BLOCKS
        elif memory is Memory.L2BM:
            self.l2bm[:, address : address + count] = True
        elif memory is Memory.PDM:
            self.pdm[:, address : address + count] = True

    def upper_run(self, memory: Memory, instance: int, first: int, count: int, write: bool) -> None:
        """Check or note a run of L2BM or PDM; DRAM keeps its own bits."""
        bits = (self.l2bm if memory is Memory.L2BM else self.pdm)[instance]
        part = bits[first : first + count]
        if write:
            part[:] = True
        elif not part.all():
            levels = (instance >> 1, instance & 1) if memory is Memory.L2BM else (instance,)
            where = coordinates_text(*levels)
            self._fail_long(memory.value, first + int(np.argmin(part)), where)

    def _fail_long(self, name: str, long: int, where: str) -> None:
        raise UninitialisedRead(
            f"long word {long} of ${name} is read but was never written",
            self.line,
            self.file_name,
            where,
            "uninitialised-read",
            "write it first, or run in vendor mode",
        )
