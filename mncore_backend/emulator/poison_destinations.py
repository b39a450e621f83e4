"""Poison at the destinations of a step: masks, addresses, base registers (SDM 3.6.1, 3.6.2)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.emulator.arena import CYCLES
from mnc.mncore_backend.emulator.destinations import MASK_LETTER
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.indirect import is_dynamic, poisoned_addresses
from mnc.mncore_backend.emulator.masks import OPEN_MASK, ResolvedMask, resolve, resolve_entry
from mnc.mncore_backend.emulator.operands import static_words
from mnc.mncore_backend.emulator.taint import FULL, HIGH, LOW, Nibbles, Origin, Taint, clean, governed

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.engine import Engine

MaskBits = tuple[Nibbles, Nibbles, Origin | None]
"""Nibbles of a mask, their poison, where it comes from."""


class Destinations:
    """Collects the stores of a step and puts their poison after all reads."""

    def __init__(self, engine: "Engine", suspended: bool) -> None:
        self.engine = engine
        self.shadow = engine.shadow
        self.suspended = suspended
        self._stores: list[tuple[Operand, Taint, Nibbles | None, ResolvedMask, MaskBits]] = []
        self._addresses: dict[int, NDArray[np.int64]] = {}
        self._lost: list[tuple[Memory, Nibbles, Origin | None]] = []

    def store(self, operand: Operand, value: Taint, flags: Nibbles | None) -> None:
        """Add a store; masks and addresses are taken as they are before the step."""
        if operand.memory is Memory.NOWRITE:
            return
        mask = self._mask_of(operand)
        bits = self.mask_bits(mask)
        if operand.memory in (Memory.LM0, Memory.LM1) and is_dynamic(operand, self.engine.context):
            self._addresses[len(self._stores)] = self.engine.dynamic_words(operand)
        if operand.memory in (Memory.LM0, Memory.LM1):
            self._note_lost(operand)
        self._stores.append((operand, value, flags, mask, bits))

    def _mask_of(self, operand: Operand) -> ResolvedMask:
        if operand.mask is not None:
            return resolve(operand.mask)
        entry = None if self.suspended else self.engine.context.masks.get(
            MASK_LETTER.get(operand.memory, operand.memory.value)
        )
        return OPEN_MASK if entry is None else resolve_entry(*entry)

    def mask_bits(self, mask: ResolvedMask) -> MaskBits:
        """Nibbles [block, cycle, PE] of a mask and their poison. Raises UninitialisedRead for a register that no step
        has written; one that was written with poison poisons what it decides, which may be padding in every PE."""
        if mask.entry is None:
            column = np.array([15 if on else 0 for on in mask.cycles], np.uint8)[None, :, None]
            return np.broadcast_to(column, clean().shape), clean(), None
        first = mask.entry * CYCLES
        if self.shadow.is_untouched(Memory.MASK, range(first, first + CYCLES)):
            self.shadow.fail("what is written here", self.shadow.origin(Memory.MASK, first))
        poison = np.stack([self.shadow.nibbles(Memory.MASK, first + c) for c in range(CYCLES)], axis=1)
        origin = None
        for cycle in range(CYCLES):
            if origin is None and poison[:, cycle].any():
                origin = self.shadow.origin(Memory.MASK, first + cycle)
        return self.engine.state.arena.masks()[:, mask.entry], poison, origin

    # ---- after the step ----

    def commit(self) -> None:
        """Put the poison of every store."""
        for index, (operand, value, flags, mask, bits) in enumerate(self._stores):
            if operand.memory is Memory.MASK:
                self._put_flags(operand, flags, value, bits)
            elif operand.memory in (Memory.BAR0, Memory.BAR1):
                self._put_base(operand, value, mask, bits)
            elif operand.memory is Memory.T:
                longs = [2 * c for c in range(CYCLES)]
                self._put(operand.memory, longs, [0] * CYCLES, 4, value, mask, bits)
            elif index in self._addresses:
                self._put_dynamic(operand, self._addresses[index], value, mask, bits)
            else:
                words = static_words(operand, self.engine.context, True)
                longs = [word >> 1 for word in words]
                self._put(operand.memory, longs, [word & 1 for word in words], operand.width, value, mask, bits)
        self._lose()

    def _put(
        self,
        memory: Memory,
        longs: list[int],
        odd: list[int],
        width: int,
        value: Taint,
        mask: ResolvedMask,
        bits: MaskBits,
    ) -> None:
        origin = value.origin or bits[2]
        for cycle in range(CYCLES):
            for part, (new, through, bad) in enumerate(self._lanes(width, odd[cycle], cycle, value, mask, bits)):
                long = longs[cycle] + part
                old = self.shadow.nibbles(memory, long)
                self.shadow.put(memory, long, (old & ~through) | (new & through) | bad, origin)

    def _note_lost(self, operand: Operand) -> None:
        """Raises UninitialisedRead where every PE writes to an address that is poisoned."""
        bad, origin = poisoned_addresses(self.engine, operand)
        if bad is None:
            return
        if bad.all():
            what = f"an address of ${operand.memory.value}"
            self.shadow.fail_at(what, bad, origin or (self.engine.line, "a word"))
        self._lost.append((operand.memory, np.where(bad.any(axis=1), FULL, np.uint8(0)), origin))

    def _lose(self) -> None:
        """A PE whose address is poisoned may have written anywhere."""
        shadow = self.shadow
        for memory, lost, origin in self._lost:
            for long in range(len(shadow.state[memory]) // 2):
                shadow.put(memory, long, shadow.nibbles(memory, long) | lost, origin)

    def _lanes(self, width: int, odd: int, cycle: int, value: Taint, mask: ResolvedMask, bits: MaskBits):
        """(poison, what is written, what a poisoned mask leaves open) of the long words of one cycle, [block, PE]."""
        msb, lsb = governed(bits[0][:, cycle], mask.two_long)
        bad_msb, bad_lsb = governed(bits[1][:, cycle], mask.two_long)
        if not mask.two_long:
            lsb = np.full_like(lsb, FULL)
        if width == 1:
            shift = np.uint8(2 * odd)
            yield tuple((part & HIGH) >> shift for part in (value.msb[:, cycle], msb, bad_msb))
            return
        yield value.msb[:, cycle], msb, bad_msb
        if width == 4:
            yield value.lsb[:, cycle], lsb, bad_lsb

    def _put_flags(self, operand: Operand, flags: Nibbles | None, value: Taint, bits: MaskBits) -> None:
        poison = clean() if flags is None else flags
        poison = (poison & bits[0]) | bits[1]
        for cycle in range(CYCLES):
            self.shadow.put(Memory.MASK, operand.address * CYCLES + cycle, poison[:, cycle], value.origin or bits[2])

    def _put_base(self, operand: Operand, value: Taint, mask: ResolvedMask, bits: MaskBits) -> None:
        index = int(operand.memory is Memory.BAR1)
        known = self.shadow.bars[index]
        bad = np.zeros((geometry().blocks, geometry().pes), np.bool_) if known is None else known[0].copy()
        for cycle in range(CYCLES):
            (new, through, open_bits), *_ = self._lanes(2, 0, cycle, value, mask, bits)
            bad = np.where(through & LOW << 2, new & HIGH != 0, bad) | (open_bits & HIGH != 0)
        origin = value.origin or bits[2] or (known and known[1])
        self.shadow.bars[index] = (bad, origin) if bad.any() else None

    def _put_dynamic(
        self, operand: Operand, words: NDArray[np.int64], value: Taint, mask: ResolvedMask, bits: MaskBits
    ) -> None:
        """A scatter: every PE writes elsewhere."""
        memory, shadow = operand.memory, self.shadow
        origin = value.origin or bits[2]
        for cycle in range(CYCLES):
            for odd in (0, 1) if operand.width == 1 else (0,):
                lanes = list(self._lanes(operand.width, odd, cycle, value, mask, bits))
                for part, (new, through, bad) in enumerate(lanes):
                    longs = (words[:, cycle] >> 1) + part
                    here = np.ones_like(longs, np.bool_) if operand.width > 1 else (words[:, cycle] & 1) == odd
                    for long in np.unique(longs[here]).tolist():
                        at = np.where(here & (longs == long), FULL, np.uint8(0))
                        old = shadow.nibbles(memory, long)
                        left = (old & ~(through & at)) | (new & through & at) | (bad & at)
                        shadow.put(memory, long, left, origin)
