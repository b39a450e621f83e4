"""Filling target words from a scratch buffer: static copies where all PEs agree, T-indirect reads with an index table
where they differ."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.dram_image import DramImage
from mnc.mncore_backend.layout import AXIS_SIZE, CHIP_SHAPE, Axis, Digit, Layout
from mnc.mncore_backend.movement.load import plan_load
from mnc.mncore_backend.movement.local import LONG, WORD, T, access, constant, copy
from mnc.mncore_backend.movement.scope import Index, uniform
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, Builder, local

ZERO, PADDING = 0, LONG  # scratch words of the reserved long words
# A long word of a table holds three indices: two halves of the LSB word and the MSB word. The operation and constant
# that bring each of them into the low word with nothing above it (an index beyond LM would wrap around).
SLOTS = (("iand", 0xFFFF), ("uilsr", 16), ("ullsr", 32))
ENTRIES = len(SLOTS)

Constants = list[tuple[DramImage, NDArray[np.uint32]]]
Kept = list[tuple[Buffer, Layout, NDArray[np.uint32]]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a movement needs besides its operations: index tables as DRAM images with the words to pack into them, or,
    in a program that keeps them, the buffers that must hold those words whenever it runs."""

    tables: Constants = field(default_factory=list)
    kept: Kept = field(default_factory=list)


@dataclass(slots=True)
class Picker:
    """State of one gather: which target long words have been written, the tables loaded so far."""

    builder: Builder
    scratch: Buffer
    target: Buffer
    touched: set[int] = field(default_factory=set)
    constants: Constants = field(default_factory=list)
    kept: Kept = field(default_factory=list)
    _held: dict[int, Buffer] = field(default_factory=dict)

    def portion(self, index: Index, padded: NDArray[np.bool_], longs: list[int]) -> None:
        """Take what `index` (scratch words [8, 8, 16, 4, words], -1: not there) offers for the given target long words.
        Words of `padded` take the padding when their long word is written first, zeros complete the rest."""
        hit = index >= 0
        present = hit.reshape(-1, index.shape[-1]).any(axis=0).reshape(-1, 2).any(axis=1)
        for fresh in (True, False):
            chosen = [a for a in longs if present[a] and (a not in self.touched) is fresh]
            if chosen:
                self._pick(_with_defaults(index, padded, chosen, fresh), chosen, fresh)
        self.touched.update(a for a in longs if present[a])

    def _pick(self, index: Index, longs: list[int], fresh: bool) -> None:
        """`index` is [8, 8, 16, 4, long word, word] restricted to `longs`."""
        first, second = index[..., 0], index[..., 1]
        paired = ((first % 2 == 0) & (second == first + 1)).reshape(-1, len(longs)).all(axis=0)
        static = uniform(first) & uniform(second)
        numbers = np.arange(len(longs))
        for pair in (True, False):
            for same in (True, False):
                chosen = numbers[(paired == pair) & (static == same)]
                for i in range(0, len(chosen), CYCLES):
                    part = chosen[i : i + CYCLES]
                    if same:
                        self._static(index[0, 0, 0, 0, part], [longs[k] for k in part], pair, fresh)
                if len(chosen) and not same:
                    self._indirect(index[..., chosen, :], [longs[k] for k in chosen], pair, fresh)

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

    def _indirect(self, index: Index, longs: list[int], pair: bool, fresh: bool) -> None:
        """Groups of four target long words; a group takes one T entry per cycle, twice if its words go separately."""
        groups = [list(range(i, min(i + CYCLES, len(longs)))) for i in range(0, len(longs), CYCLES)]
        entries = [index[..., g + [g[-1]] * (CYCLES - len(g)), j] for g in groups for j in ((0,) if pair else (0, 1))]
        table = self._load(np.stack(entries, axis=-2))
        for number, group in enumerate(groups):
            held = self.builder.temporary(CYCLES, (Memory.GRF0,), "picked")
            at = [LONG * k for k in range(len(group))]
            if pair:
                self._fetch(table, number, access(held, at, LONG))
            else:
                for j in range(2):
                    self._fetch(table, 2 * number + j, access(held, [w + j for w in at], WORD))
            self._deliver(held, [longs[k] for k in group], fresh)

    def _fetch(self, table: Buffer, entry: int, target: BufferOperand) -> None:
        """T from table slot `entry`, then the indirect read (T index: low word of the MSB long, SDM 3.6.1.6)."""
        block, slot = divmod(entry, ENTRIES)
        index = local(table, [block * CYCLES + c for c in range(CYCLES)])
        opcode, operand = SLOTS[slot]
        self.builder.emit(opcode, [index, local(self._constant(operand), [0])], [T])
        source = BufferOperand(self.scratch, (0,) * CYCLES, target.width, t_indirect=True)
        self.builder.emit("lpassa" if target.width == LONG else "ipassa", [source], [target])

    def _constant(self, value: int) -> Buffer:
        if value not in self._held:
            self._held[value] = constant(self.builder, value, f"slot{value}")
        return self._held[value]

    def _load(self, entries: Index) -> Buffer:
        """Bring a table [8, 8, 16, 4, entry, cycle] of scratch words into every PE."""
        count = -(-entries.shape[-2] // ENTRIES)
        slots = np.zeros((*CHIP_SHAPE, count * ENTRIES, CYCLES), np.uint32)
        slots[..., : entries.shape[-2], :] = entries
        slots = slots.reshape(*CHIP_SHAPE, count, ENTRIES, CYCLES)
        msb = slots[..., 2, :]
        lsb = slots[..., 1, :] << np.uint32(16) | slots[..., 0, :]
        words = np.stack([msb, lsb], axis=-1).reshape(*CHIP_SHAPE, -1)
        return self._load_words(words)

    def _load_words(self, words: NDArray[np.uint32]) -> Buffer:
        """Per-PE words, loaded here or kept; axes along which they do not change are left to replication."""
        shape, dims = [], []
        for position, axis in enumerate((Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE)):
            once = words.take([0], axis=position)
            alike = bool((words == once).all())
            words = once if alike else words
            shape.append(words.shape[position])
            dims.append(() if alike else (Digit(AXIS_SIZE[axis], axis, 1),))
        longs = words.shape[-1] // 2
        layout = Layout((*shape, 2 * longs), (*dims, (Digit(longs), Digit(2, Axis.W))))
        table = self.builder.temporary(longs, (LOCAL_MEMORY[1],), "table")
        if self.builder.keep:
            self.kept.append((table, layout, words))
        else:
            self.constants.append((plan_load(self.builder, layout, table), words))
        return table


def _with_defaults(index: Index, padded: NDArray[np.bool_], longs: list[int], fresh: bool) -> Index:
    """Misses become the padding slot (first write only) or the zero slot. Returns [8, 8, 16, 4, long word, word]."""
    words = [2 * a + j for a in longs for j in range(2)]
    default = np.where(padded[..., words] & fresh, PADDING, ZERO) + np.arange(len(words)) % 2
    picked = index[..., words]
    return np.where(picked >= 0, picked, default).reshape(*CHIP_SHAPE, len(longs), 2)
