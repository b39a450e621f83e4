"""What nobody wrote: poison of the PE memories in strict mode. Reading it is fine, a result that depends on it is not.

All PEs execute the same statements, so most writes reach every PE: one byte per word address (`state`) says "nowhere",
"everywhere" or "somewhere". Only "somewhere" needs poison bits per PE (`detail`, four per long word), allocated when it
first occurs. A step that reads nothing poisonous is seen to by comparing bytes; see `poison` for the others and
`upper_shadow` for the memories above the PEs.
"""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.errors import EmulationError, block_text
from mnc.mncore_backend.emulator.geometry import CYCLES, MASK_ENTRIES, geometry
from mnc.mncore_backend.emulator.plan import Access
from mnc.mncore_backend.emulator.taint import FULL, HIGH, LOW, Nibbles, Origin, Taint
from mnc.mncore_backend.emulator.upper_shadow import ORIGIN_LONGS, UpperShadow
from mnc.mncore_backend.target import cached_per_machine

NOWHERE, EVERYWHERE, SOMEWHERE = 0, 1, 2
WORD_MEMORIES = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)


@cached_per_machine()
def _words() -> dict[Memory, int]:
    """Words of a PE, or entries and cycles of its masks."""
    found = {memory: 2 * geometry().longs[memory] for memory in WORD_MEMORIES}
    return found | {Memory.T: 4 * CYCLES, Memory.MASK: MASK_ENTRIES * CYCLES}


_KEPT_BY_WORD = {NOWHERE: (0, 3), EVERYWHERE: (0, 0), SOMEWHERE: (3, 0)}  # bits of detail kept, bits set


class UninitialisedRead(EmulationError):
    """What nobody wrote decides a result."""


class Shadow(UpperShadow):
    """Poison of every memory. When `enabled` is false nothing is kept or checked (vendor mode).

    latches     poison of what the units hold, only where there is some
    turnaround  poison of the 256 long words of the turnaround register, None if clean
    banks       poison of the rows of a matrix bank, None if clean
    bars        PEs whose base register is poisoned, None if there are none
    dar         poisoned entries of DAR, [group, entry], and of its buffer; None if there are none
    """

    def __init__(self, enabled: bool) -> None:
        super().__init__()
        self.enabled = enabled
        self.state = {memory: bytearray(size) for memory, size in _words().items()}
        self.detail: dict[Memory, Nibbles] = {}
        self.origins: dict[tuple[Memory, int], Origin] = {}
        self.latches: dict[str, Taint] = {}
        self.turnaround: tuple[Nibbles, Origin | None] | None = None
        self.banks: dict[str, tuple[Nibbles, Origin | None] | None] = {"x": None, "y": None}
        self.bars: list[tuple[NDArray[np.bool_], Origin | None] | None] = [None, None]
        self.dar: NDArray[np.bool_] | None = None
        self.dar_staged: NDArray[np.bool_] | None = None
        self.dar_origin: Origin | None = None
        self.dram_origins: dict[tuple[int, int], Origin] = {}
        self.has_poison_aside = False
        self.line = 0
        self.file_name = "<program>"
        self._everywhere = {width: bytes([EVERYWHERE]) * width for width in range(1, 17)}

    # ---- without poison ----

    def is_clean(self, access: Access) -> bool:
        """Are all words of an access written in every PE, with values that depend on no poison?"""
        state, width = self.state[access.memory], access.width
        everywhere = self._everywhere[width]
        for first in access.words:  # noqa: SIM110  (a generator takes twice as long, and every step comes here)
            if state[first : first + width] != everywhere:
                return False
        return True

    def mark(self, access: Access) -> None:
        """Note an unmasked write of clean values with static addresses."""
        state, width = self.state[access.memory], access.width
        everywhere = self._everywhere[width]
        for first in access.words:
            state[first : first + width] = everywhere

    def is_clean_dynamic(self, memory: Memory, words: NDArray[np.int64], width: int) -> bool:
        """`is_clean` for data-dependent addresses, first words [block, cycle, PE]."""
        state = np.frombuffer(self.state[memory], np.uint8)
        if (state[words.min() : words.max() + width] == EVERYWHERE).all():
            return True
        return all((state[words + offset] == EVERYWHERE).all() for offset in range(width))

    # ---- poison of PE memories ----

    def _details(self, memory: Memory) -> Nibbles:
        if memory not in self.detail:
            units = _words()[memory] if memory is Memory.MASK else _words()[memory] // 2
            self.detail[memory] = np.full((geometry().blocks, units, geometry().pes), FULL, np.uint8)
        return self.detail[memory]

    def nibbles(self, memory: Memory, long: int) -> Nibbles:
        """Poison [block, PE] of a long word of a PE memory; of mask registers, entry * 4 + cycle."""
        states = self.state[memory]
        if memory is Memory.MASK:
            first = second = states[long]
        else:
            first, second = states[2 * long], states[2 * long + 1]
        if first == second == EVERYWHERE:
            return np.zeros((geometry().blocks, geometry().pes), np.uint8)
        if first == second == NOWHERE:
            return np.full((geometry().blocks, geometry().pes), FULL, np.uint8)
        high, low = _KEPT_BY_WORD[first], _KEPT_BY_WORD[second]
        keep, add = np.uint8(high[0] << 2 | low[0]), np.uint8(high[1] << 2 | low[1])
        return (self._details(memory)[:, long] & keep) | add

    def is_untouched(self, memory: Memory, units: range) -> bool:
        """Has no step and no host written any of these words, or cycles of mask registers, in any PE?"""
        return not any(self.state[memory][unit] for unit in units)

    def put(self, memory: Memory, long: int, poison: Nibbles, origin: Origin | None) -> None:
        """Replace the poison [block, PE] of a long word of a PE memory."""
        states = self.state[memory]
        if memory is Memory.MASK:
            states[long] = SOMEWHERE if poison.any() else EVERYWHERE
        else:
            states[2 * long] = SOMEWHERE if (poison & HIGH).any() else EVERYWHERE
            states[2 * long + 1] = SOMEWHERE if (poison & LOW).any() else EVERYWHERE
        if poison.any():
            self.epoch += 1
            self._details(memory)[:, long] = poison
            if origin is not None:
                self.origins[memory, long] = origin

    def origin(self, memory: Memory, long: int, bits: int = 15) -> Origin:
        """Where the poison of a long word comes from: an earlier line, or this one if nobody wrote it."""
        known = self.origins.get((memory, long))
        if known is not None:
            return known
        if memory is Memory.T:
            return self.line, f"entry {long >> 1} of $t"
        if memory is Memory.MASK:
            return self.line, f"cycle {long % CYCLES} of mask register {long // CYCLES}"
        return self.line, f"word {2 * long + int(not bits & 12)} of ${memory.value}"

    def origin_of_dram(self, group: int, address: int) -> Origin:
        """Where the poison at a long word of DRAM comes from; this line if nobody wrote it."""
        name = f"long word {address} of DRAM {group}"
        return self.dram_origins.get((group, address // ORIGIN_LONGS), (self.line, name))

    def mark_words(self, memory: Memory, words: range, where: NDArray[np.bool_]) -> None:
        """Note that the same words were written in the PEs where [block, PE] is true."""
        if not self.enabled:
            return
        for word in words:
            if self.state[memory][word] == EVERYWHERE:
                continue
            bits = LOW if word & 1 else HIGH
            poison = self.nibbles(memory, word >> 1)
            self.put(memory, word >> 1, np.where(where, poison & ~bits, poison), None)

    def note_poison_aside(self) -> None:
        """Note whether latches, the turnaround register, banks, base registers or the DAR buffer hold poison."""
        self.epoch += 1
        kept = (self.turnaround, *self.banks.values(), *self.bars, self.dar_staged)
        self.has_poison_aside = bool(self.latches) or any(part is not None for part in kept)

    # ---- host ----

    def mark_everything(self) -> None:
        """Take every memory but DRAM as written."""
        self.epoch += 1
        for memory, state in self.state.items():
            state[:] = bytes([EVERYWHERE]) * _words()[memory]
        self.mark_upper()
        self.latches.clear()
        self.turnaround = None
        self.banks = {"x": None, "y": None}
        self.bars = [None, None]
        self.dar = self.dar_staged = None
        self.has_poison_aside = False

    def mark_host(self, memory: Memory, address: int, count: int) -> None:
        """Note that the host wrote long words of every instance of a memory."""
        if memory in _words() and memory is not Memory.T:
            self.state[memory][2 * address : 2 * (address + count)] = bytes([EVERYWHERE]) * (2 * count)
        elif memory is Memory.T:
            self.state[memory][:] = bytes([EVERYWHERE]) * len(self.state[memory])
        else:
            self.mark_upper_host(memory, address, count)

    # ---- errors ----

    def fail(self, what: str, origin: Origin, where: str = "") -> NoReturn:
        """Raise UninitialisedRead: `what` depends on words that nobody wrote."""
        line, name = origin
        message = f"{what} depends on {name}, which was never written"
        if line != self.line:
            message += f" and is read first in line {line}"
        hint = "write it first, or run in vendor mode, where memories start at zero"
        raise UninitialisedRead(message, self.line, self.file_name, where, "uninitialised-read", hint)

    def fail_at(self, what: str, poison: NDArray[np.generic], origin: Origin) -> NoReturn:
        """`fail` with the first unit [block, ..., PE] that is poisoned."""
        index = np.argwhere(poison)[0]
        self.fail(what, origin, block_text(int(index[0]), int(index[-1])))
