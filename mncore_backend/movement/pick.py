"""Filling target words from a scratch buffer: static copies where all PEs agree, T-indirect reads with an index table
where they differ."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Mask, Memory, Operand
from mnc.mncore_backend.movement.local import LONG, WORD, T, access, constant, copy
from mnc.mncore_backend.movement.patterns import ABSENT, OFFSET, PADDED, batched, in_fours, patterns
from mnc.mncore_backend.movement.room import room, scratch
from mnc.mncore_backend.movement.scope import Index, uniform
from mnc.mncore_backend.movement.tables import Constants, Kept, load_words
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, local
from mnc.mncore_backend.target import WRITABLE_MASKS

ENTRIES = 2
"""Entries of a table in one long word: the LSB word holds two offsets, and what brings each of them to where T wants it
with nothing above (an address beyond LM would wrap around) is this operation; the MSB word holds their flags."""
_OFFSETS = (("iand", OFFSET), ("uilsr", 16))
_ABSENT, _UNPADDED = 31, 29  # flags of the first entry: bits of the MSB word, one lower those of the second

MASK_ENTRY = WRITABLE_MASKS[-2]  # set right before the step that uses it; the last one is for padding

def _most_tables() -> int:
    return room(Memory.LM1, 1, 8)
"""Long words of the tables that are kept for what comes later."""

Entry = tuple[Buffer, int]
"""A table and the number of an entry of it: an offset and flags for each of four cycles."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a movement needs besides its operations: index tables as DRAM images with the words to pack into them, or,
    in a program that keeps them, the buffers that must hold those words whenever it runs."""

    tables: Constants = field(default_factory=list)
    kept: Kept = field(default_factory=list)


@dataclass
class Picker:
    """State of one gather: which target long words have been written, the tables loaded so far. `padding` is the
    pattern of target words that nothing comes to."""

    builder: Builder
    target: Buffer
    padding: int = 0
    touched: set[int] = field(default_factory=set)
    constants: Constants = field(default_factory=list)
    kept: Kept = field(default_factory=list)
    _held: dict[int, Buffer] = field(default_factory=dict)
    _tables: dict[bytes, Entry] = field(default_factory=dict)

    @cached_property
    def scratch(self) -> Buffer:
        """Where portions arrive."""
        return self.builder.temporary(scratch(), (Memory.LM0,), "scratch")

    def portion(self, index: Index, padded: NDArray[np.bool_], longs: list[int]) -> None:
        """Take what `index` (scratch words [L2B, L1B, MAB, PE, words of `longs`], -1: not there) offers for the given
        target long words. Words of `padded`, of all long words, take the padding when their long word is written
        first, zeros complete the rest."""
        for fresh in (True, False):
            numbers = [i for i, a in enumerate(longs) if (a not in self.touched) is fresh]
            if numbers:
                chosen = [longs[i] for i in numbers]
                own = padded[..., _words(chosen)] & (fresh and self.padding != 0)
                held = index if len(numbers) == len(longs) else index[..., _words(numbers)]
                self._pick(_by_lanes(held), _by_lanes(own), chosen, fresh)
        self.touched.update(longs)

    def _pick(self, index: Index, padded: NDArray[np.bool_], longs: list[int], fresh: bool) -> None:
        """`index` and `padded` are [L2B, L1B, MAB, PE, long word, word] restricted to `longs`."""
        first, second = index[..., 0], index[..., 1]
        together = (first % 2 == 0) & (second == first + 1)
        neither = (first < 0) & (second < 0) & (padded[..., 0] == padded[..., 1])
        paired = (together | neither).reshape(-1, len(longs)).all(axis=0)
        static = uniform(first) & uniform(second) & (index[0, 0, 0, 0] >= 0).all(axis=-1)
        numbers = np.arange(len(longs))
        for pair in (True, False):
            for same in (True, False):
                chosen = numbers[(paired == pair) & (static == same)]
                own = [longs[k] for k in chosen]
                if same:
                    for part in batched(list(zip(chosen.tolist(), own, strict=True))):
                        self._static(index[0, 0, 0, 0, [k for k, _ in part]], [a for _, a in part], pair, fresh)
                elif len(chosen):
                    lanes = range(1 if pair else 2)
                    self._indirect(index[..., chosen, :][..., lanes], padded[..., chosen, :][..., lanes], own, fresh)

    def _static(self, index: Index, longs: list[int], pair: bool, fresh: bool) -> None:
        held = self.builder.temporary(CYCLES, (Memory.GRF0,), "picked")
        if pair:
            copy(self.builder, self.scratch, held, [(int(w[0]), LONG * k) for k, w in enumerate(index)])
        else:
            words = [(int(w[j]), LONG * k + j) for j in range(2) for k, w in enumerate(index)]
            for j in range(2):
                copy(self.builder, self.scratch, held, words[j * len(longs) : (j + 1) * len(longs)], WORD)
        self._deliver(held, longs, fresh)

    def _deliver(self, held: Buffer, longs: list[int], fresh: bool) -> None:
        read = access(held, [LONG * k for k in range(len(longs))], LONG)
        write = access(self.target, [LONG * a for a in longs], LONG)
        if fresh:
            self.builder.emit("lpassa", [read], [write])
        else:
            self.builder.emit("lor", [read, write], [write])

    def _indirect(self, index: Index, padded: NDArray[np.bool_], longs: list[int], fresh: bool) -> None:
        """Groups of four target long words, each picked whole or, with two lanes, word by word; `index` and `padded`
        are [L2B, L1B, MAB, PE, long word, lane]."""
        lanes = index.shape[-1]
        shape = (*index.shape[:-2], -1)
        codes, which, begins = patterns(index.reshape(shape), padded.reshape(shape))
        which, begins = which.reshape(-1, lanes), begins.reshape(-1, lanes)
        groups = list(in_fours([tuple(own) for own in which.tolist()]))
        wanted = [_all_cycles(which[group, j].tolist()) for group in groups for j in range(lanes)]
        known = {entry: codes[list(entry)] for entry in dict.fromkeys(wanted)}
        entries = dict(zip(known, self._entries(list(known.values())), strict=True))
        ready = None
        for number, group in enumerate(groups):
            held = self.builder.temporary(CYCLES, (Memory.GRF0,), "picked")
            for j in range(lanes):
                entry = wanted[number * lanes + j]
                goal = access(held, [LONG * k + j for k in range(len(group))], LONG if lanes == 1 else WORD)
                self._fetch(entries[entry], known[entry], begins[group, j].tolist(), goal, load=ready != entry)
                ready = entry
            self._deliver(held, [longs[k] for k in group], fresh)

    def _entries(self, wanted: list[NDArray[np.uint16]]) -> list[Entry]:
        """Where the codes [cycle, L2B, L1B, MAB, PE] of each entry are; tables serve later portions, too."""
        keys = [codes.tobytes() for codes in wanted]
        fresh = {key: codes for key, codes in zip(keys, wanted, strict=True) if key not in self._tables}
        if fresh:
            table = self._load(np.stack(list(fresh.values())))
            made: dict[bytes, Entry] = {key: (table, number) for number, key in enumerate(fresh)}
            own = {**self._tables, **made}
            if sum(buffer.size for buffer in {entry[0] for entry in own.values()}) <= _most_tables():
                self._tables = own
            return [own[key] for key in keys]
        return [self._tables[key] for key in keys]

    def _fetch(
        self, at: Entry, codes: NDArray[np.uint16], begins: list[int], target: BufferOperand, *, load: bool
    ) -> None:
        """The indirect read with an entry of a table, from T and the mask register if it is not there yet (T index:
        low word of the MSB long, SDM 3.6.1.6). PEs that pick nothing get zeros or the padding."""
        block, slot = divmod(at[1], ENTRIES)
        entry = local(at[0], [block * CYCLES + c for c in range(CYCLES)])
        passes = "lpassa" if target.width == LONG else "ipassa"
        source = BufferOperand(self.scratch, _all_cycles(begins), target.width, t_indirect=True)
        mask = Mask(entry=MASK_ENTRY) if (codes & ABSENT).any() else None
        padded = bool((codes & PADDED).any())
        if padded:  # for every group anew: the mask register has two uses
            self._flag(entry, _UNPADDED - slot)
            self.builder.emit(passes, [local(self._constant(self.padding), [0])], [target], zero_flush=mask)
        if load:
            opcode, operand = _OFFSETS[slot]
            self.builder.emit(opcode, [entry, local(self._constant(operand), [0])], [T])
        if mask is not None and (load or padded):
            self._flag(entry, _ABSENT - slot)
        if padded:
            self.builder.emit(passes, [source], [target._replace(mask=mask)])
        else:
            self.builder.emit(passes, [source], [target], zero_flush=mask)

    def _flag(self, entry: BufferOperand, bit: int) -> None:
        """Let the mask register pass the PEs in which a bit of the MSB word is clear (SDM 3.6.2: the flag of zero); no
        entry has that bit of the LSB word."""
        self.builder.emit(
            "land", [entry, local(self._constant(1 << bit), [0])], [Operand(Memory.MASK, address=MASK_ENTRY)]
        )

    def _constant(self, value: int) -> Buffer:
        if value not in self._held:
            self._held[value] = constant(self.builder, value, f"slot{value}")
        return self._held[value]

    def _load(self, codes: NDArray[np.uint16]) -> Buffer:
        """Bring a table of codes [entry, cycle, L2B, L1B, MAB, PE] into every PE."""
        count = -(-len(codes) // ENTRIES)
        slots = np.zeros((count * ENTRIES, *codes.shape[1:]), np.uint32)
        slots[: len(codes)] = codes
        slots = slots.reshape(count, ENTRIES, *codes.shape[1:])
        lsb, msb = np.zeros((2, count, *codes.shape[1:]), np.uint32)
        for slot, ((_, _), own) in enumerate(zip(_OFFSETS, np.moveaxis(slots, 1, 0), strict=True)):
            lsb |= (own & OFFSET) << np.uint32(16 * slot)
            msb |= ((own & ABSENT) != 0).astype(np.uint32) << np.uint32(_ABSENT - slot)
            msb |= ((own & PADDED) == 0).astype(np.uint32) << np.uint32(_UNPADDED - slot)
        words = np.stack([msb, lsb], axis=-1)  # [block, cycle, L2B, L1B, MAB, PE, word]
        words = np.moveaxis(words, (0, 1), (4, 5)).reshape(*codes.shape[2:], -1)
        return load_words(self.builder, words, self.constants, self.kept)


def _by_lanes(words: NDArray[Any]) -> NDArray[Any]:
    """[..., words] as [..., long word, word]."""
    return words.reshape(*words.shape[:-1], -1, 2)


def _words(longs: list[int]) -> list[int]:
    return [2 * a + j for a in longs for j in range(2)]


def _all_cycles(values: list[int]) -> tuple[int, ...]:
    """One value for each cycle: the last one again for those without work."""
    return (*values, *values[-1:] * (CYCLES - len(values)))
