"""Destinations of PE expressions: stores under their masks, mask registers, base registers (SDM 3.6.1, 3.6.2)."""

from typing import TYPE_CHECKING

import numpy as np

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.arena import CYCLES, Rows, arena_layout, row_bytes
from mnc.mncore_backend.emulator.constants import Constants, KnownStore
from mnc.mncore_backend.emulator.context import Context
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.indirect import DynamicTarget, is_dynamic, store_dynamic
from mnc.mncore_backend.emulator.masks import OPEN_MASK, ResolvedMask, bits_of, resolve, resolve_entry
from mnc.mncore_backend.emulator.operands import (
    NO_DISPLACEMENT,
    REGION,
    WORD_MEMORIES,
    StaticError,
    check_static,
    following_rows,
    static_words,
)
from mnc.mncore_backend.emulator.plan import Access, PlanBuilder, Value, rows_of
from mnc.mncore_backend.emulator.transfer_kernels import store_flags

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.engine import Engine

MASK_LETTER = {Memory.BAR0: "m", Memory.BAR1: "n", Memory.MASK: "k"}


def find_store(operand: Operand, context: Context, base: int, strict: bool) -> KnownStore:
    """Where an unmasked destination with static addresses lies in the arena that begins at `base`."""
    a, b, c, d = words = static_words(operand, context, strict)
    out = rows_of(base, REGION[operand.memory], (a >> 1, b >> 1, c >> 1, d >> 1))
    odd = (a & 1, b & 1, c & 1, d & 1) if operand.width == 1 else None
    kernel = kernels.store("long" if odd is None else "word", None)
    access = Access(operand.memory, words, operand.width, operand)
    return KnownStore(operand, access, kernel, out, odd, following_rows(out))


class Writer:
    """Adds the stores of a step. `suspended` is true when some destination of the step carries a mask of its own: then
    the mask statement has no effect in this step (SDM 3.6.2.2)."""

    def __init__(self, builder: PlanBuilder, context: Context, constants: Constants, strict: bool, suspended: bool):
        self.builder = builder
        self.context = context
        self.constants = constants
        self.strict = strict
        self.suspended = suspended

    def mask_of(self, operand: Operand) -> ResolvedMask:
        """The write mask in force for a destination."""
        if operand.mask is not None:
            return resolve(operand.mask)
        if self.suspended:
            return OPEN_MASK
        letter = MASK_LETTER.get(operand.memory, operand.memory.value)
        entry = self.context.masks.get(letter)
        return OPEN_MASK if entry is None else resolve_entry(*entry)

    def mask_rows(self, mask: ResolvedMask) -> Rows:
        """Nibble rows of a run-time mask."""
        assert mask.entry is not None
        self.builder.mask_reads.add(mask.entry)
        pes = geometry().pes
        first = self.builder.arena.base + arena_layout().regions["omr"][0] * row_bytes() + mask.entry * CYCLES * pes
        return (first, first + pes, first + 2 * pes, first + 3 * pes, self.builder.rows("omr", range(4))[4])

    def store(self, operand: Operand, value: Value, flags: Rows | None) -> None:
        """Store a result to one destination; `flags` are the nibbles of the producing operation, if any."""
        memory = operand.memory
        if memory is Memory.NOWRITE:
            return
        known = self.constants.stores.get(id(operand))
        if known is not None and known.operand is operand and self._is_plain(operand):
            self._store_known(known, value)
            return
        mask = self.mask_of(operand)
        if memory is Memory.MASK:
            self._store_flags(operand, flags, mask)
        elif memory in (Memory.BAR0, Memory.BAR1):
            self._store_base(memory, value, mask)
        elif memory is Memory.T:
            self._store_t(operand, value, mask)
        elif memory in WORD_MEMORIES:
            check_static(operand, self.strict)
            if is_dynamic(operand, self.context):
                self._store_dynamic(operand, value, mask)
            else:
                self._store_static(operand, value, mask)
        else:
            raise StaticError(f"${memory.value} cannot be written here")

    def _is_plain(self, operand: Operand) -> bool:
        """No mask and no displacement changes where the store goes."""
        return operand.mask is None and not self.context.masks and self.context.bars == NO_DISPLACEMENT

    def _store_known(self, known: KnownStore, value: Value) -> None:
        """A store whose rows were found before."""
        self.builder.writes.append(known.access)
        stores = self.builder.stores
        word = () if known.word is None else (known.word,)
        stores.append((known.kernel, (known.out, value.msb, *word)))
        if known.operand.width == 4:
            stores.append((kernels.store("lsb", None), (known.lsb_out, value.lsb)))

    def _store_t(self, operand: Operand, value: Value, mask: ResolvedMask) -> None:
        self._note(operand, (0, 4, 8, 12), 4, mask)
        self._store_rows(self.builder.rows("t", range(4)), value.msb, "long", 0, mask, mask.cycles)
        lsb_cycles = mask.cycles if mask.two_long else (True,) * CYCLES
        self._store_rows(self.builder.rows("t", range(4, 8)), value.lsb, "lsb", 0, mask, lsb_cycles)

    def _store_static(self, operand: Operand, value: Value, mask: ResolvedMask) -> None:
        if self._is_plain(operand):
            known = find_store(operand, self.context, self.builder.arena.base, self.strict)
            self.constants.keep_store(known)
            self._store_known(known, value)
            return
        words = static_words(operand, self.context, self.strict)
        self._note(operand, words, operand.width, mask)
        out = self.builder.rows(REGION[operand.memory], [word >> 1 for word in words])
        odd = tuple(word & 1 for word in words) if operand.width == 1 else None
        if odd is not None:
            self._store_rows(out, value.msb, "word", odd, mask, mask.cycles)
            return
        self._store_rows(out, value.msb, "long", 0, mask, mask.cycles)
        if operand.width == 4:
            cycles = mask.cycles if mask.two_long else (True,) * CYCLES
            self._store_rows(following_rows(out), value.lsb, "lsb", 0, mask, cycles)

    def _store_rows(
        self, out: Rows, x: Rows, width: str, word: int | tuple[int, ...], mask: ResolvedMask, cycles: tuple[bool, ...]
    ) -> None:
        """One store kernel; cycles that a fixed mask silences go to a trash row."""
        if not any(cycles):
            return
        if not all(cycles):
            trash = self.builder.rows("trash", range(CYCLES))
            a, b, c, d = (out[i] if cycles[i] else trash[i] for i in range(CYCLES))
            out = (a, b, c, d, out[4])
        operands: dict[str, tuple[int, ...]] = {"out": out, "x": x}
        if isinstance(word, tuple):
            operands["word"] = word
        if mask.entry is None or (width == "lsb" and not mask.two_long):
            self.builder.store(kernels.store(width, None), **operands)
        else:
            kind = "ll" if mask.two_long else "long"
            self.builder.store(kernels.store(width, kind), **operands, mask=self.mask_rows(mask))

    def _note(self, operand: Operand, words: tuple[int, ...], width: int, mask: ResolvedMask) -> None:
        """Record the write for the strict checks."""
        if mask.entry is not None:
            access = Access(operand.memory, words, width, operand, mask=(mask.entry, mask.two_long))
        elif width == 4 and not mask.two_long and not all(mask.cycles):
            lsb = tuple(word + 2 for word in words)
            self.builder.writes.append(Access(operand.memory, lsb, 2, operand))
            kept = tuple(w for w, on in zip(words, mask.cycles, strict=True) if on)
            access = Access(operand.memory, kept, 2, operand)
        elif all(mask.cycles):
            access = Access(operand.memory, words, width, operand)
        else:
            kept = tuple(w for w, on in zip(words, mask.cycles, strict=True) if on)
            access = Access(operand.memory, kept, width, operand)
        self.builder.writes.append(access)

    def _store_flags(self, operand: Operand, flags: Rows | None, mask: ResolvedMask) -> None:
        if not 1 <= operand.address <= 15:
            raise StaticError(f"mask register entry {operand.address} is a constant and cannot be written")
        source = flags if flags is not None else self.constants.cycle_mask((False,) * CYCLES)  # OPEN-15
        pes = geometry().pes
        region = self.builder.arena.base + arena_layout().regions["omr"][0] * row_bytes()
        first = region + operand.address * CYCLES * pes
        out = (first, first + pes, first + 2 * pes, first + 3 * pes, self.builder.rows("omr", range(CYCLES))[4])
        if mask.is_open:
            self.builder.store_late(store_flags(None), out=out, x=source)
        else:  # the AND of flags and mask, in every cycle (OPEN-14)
            rows = self.constants.cycle_mask(mask.cycles) if mask.entry is None else self.mask_rows(mask)
            self.builder.store_late(store_flags("mask"), out=out, x=source, mask=rows)
        self.builder.mask_writes.append((operand.address, tuple(range(CYCLES))))

    def _nibbles(self, engine: "Engine", mask: ResolvedMask) -> np.ndarray:
        """Nibbles [block, cycle, PE] of a mask."""
        if mask.entry is not None:
            return engine.state.arena.masks()[:, mask.entry]
        column = np.where(np.array(mask.cycles), 15, 0).astype(np.uint8)[None, :, None]
        return np.broadcast_to(column, (geometry().blocks, CYCLES, geometry().pes))

    def _store_base(self, memory: Memory, value: Value, mask: ResolvedMask) -> None:
        """The low 12 bits of D0 (OPEN-11); the last written cycle stays."""
        index = int(memory is Memory.BAR1)
        if mask.entry is not None:
            self.builder.mask_reads.add(mask.entry)

        held: list[np.ndarray] = []

        def prepare(engine: "Engine") -> None:
            held[:] = [bits_of(self._nibbles(engine, mask), mask.two_long)[0]]

        def act(engine: "Engine") -> None:
            longs, keep = engine.gather(value.msb), held[0]
            registers = engine.state.base_registers()
            low = np.uint64(0xFFF) << np.uint64(32)
            for cycle in range(CYCLES):
                kept = (keep[:, cycle] & low) >> np.uint64(32)
                new = (longs[:, cycle] >> np.uint64(32)) & np.uint64(0xFFF)
                registers[:, index] = (registers[:, index] & ~kept) | (new & kept)
            engine.base_register_changed(index)

        self.builder.before.append(prepare)
        self.builder.after.append(act)

    def _store_dynamic(self, operand: Operand, value: Value, mask: ResolvedMask) -> None:
        if operand.t_indirect:
            self.builder.reads.append(Access(Memory.T, (0, 4, 8, 12), 4, operand))
        if mask.entry is not None:
            self.builder.mask_reads.add(mask.entry)

        place = (operand.memory, operand.addresses(), operand.width, operand)
        self.builder.writes.append(Access(*place, dynamic=True))
        held: list[DynamicTarget] = []

        def prepare(engine: "Engine") -> None:
            keep = bits_of(self._nibbles(engine, mask), mask.two_long)
            held[:] = [DynamicTarget(engine.dynamic_words(operand), *keep)]

        def act(engine: "Engine") -> None:
            store_dynamic(engine, operand, engine.gather(value.msb), engine.gather(value.lsb), held[0])

        self.builder.before.append(prepare)
        self.builder.after.append(act)
