"""The whole state of the machine as a value: save, load, restore, compare with a readable difference."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.diagnostics import CompileError
from mnc.core.files import whole_file
from mnc.core.npz import UNREADABLE, open_npz
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.arena import arena_layout
from mnc.mncore_backend.emulator.dram import PAGE_LONGS, Dram, Page
from mnc.mncore_backend.emulator.errors import block_text, coordinates_text
from mnc.mncore_backend.emulator.geometry import CYCLES, geometry
from mnc.mncore_backend.emulator.state import State
from mnc.mncore_backend.target import cached_per_machine

_IN_ARENA = (
    Memory.LM0,
    Memory.LM1,
    Memory.GRF0,
    Memory.GRF1,
    Memory.T,
    Memory.MATRIX_X,
    Memory.MATRIX_Y,
    Memory.L1BM,
)
ARRAYS = (*_IN_ARENA, Memory.L2BM, Memory.PDM)
_WORD_ADDRESSED = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)


@cached_per_machine()
def _shapes() -> dict[Memory, tuple[int, ...]]:
    """Shapes of what `_storage` gives."""
    own, regions = geometry(), arena_layout().regions
    upper = {Memory.L2BM: (own.l2bs, own.l2bm_longs), Memory.PDM: (own.groups, own.pdm_longs)}
    return {memory: (own.blocks, regions[memory.value][1], geometry().pes) for memory in _IN_ARENA} | upper


def _storage(state: State, memory: Memory) -> NDArray[np.uint64]:
    """A memory as it is stored: [block, row, PE] in the arena (L1BM: row and PE give the long word), or [instance, long
    word]; copying and comparing it in this order is fast."""
    if memory in _IN_ARENA:
        return state.arena.region(memory.value)
    return state.l2bm if memory is Memory.L2BM else state.pdm


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Copies of all memories as they are stored, mask nibbles, base registers, DAR, DRAM pages."""

    arrays: dict[Memory, NDArray[np.uint64]]
    masks: NDArray[np.uint8]
    base_registers: NDArray[np.uint64]
    dar: NDArray[np.uint32]
    dram: list[Dram]
    banks: dict[str, list[str]]  # precision each row of a matrix bank was written with

    @classmethod
    def take(cls, state: State, banks: dict[str, list[str]]) -> "Snapshot":
        """Copy everything."""
        return cls(
            {memory: _storage(state, memory).copy() for memory in ARRAYS},
            state.masks().copy(),
            state.base_registers().copy(),
            state.dar.copy(),
            [dram.copy() for dram in state.dram],
            {bank: list(rows) for bank, rows in banks.items()},
        )

    @property
    def fits(self) -> bool:
        """Whether it is one of the machine in use, or of another one with as much of everything."""
        return all(self.arrays[memory].shape == shape for memory, shape in _shapes().items())

    def put(self, state: State) -> None:
        """Write everything back."""
        for memory, values in self.arrays.items():
            _storage(state, memory)[...] = values
        state.masks()[...] = self.masks
        state.base_registers()[...] = self.base_registers
        state.dar[...] = self.dar
        state.dram[:] = [dram.copy() for dram in self.dram]

    def differences(self, other: "Snapshot", limit: int = 20) -> list[str]:
        """Readable lines, at most `limit` and a summary: where this snapshot (first) and `other` differ."""
        lines: list[str] = []
        total = 0
        for memory, values in self.arrays.items():
            theirs = other.arrays[memory]
            if np.array_equal(values, theirs):
                continue
            where = np.argwhere(values != theirs)
            total += len(where)
            for index in where[: max(0, limit - len(lines))]:
                at = tuple(int(i) for i in index)
                place = _place(memory, at)
                lines.append(f"{memory.name} {place}: 0x{int(values[at]):016x} / 0x{int(theirs[at]):016x}")
        for name, mine, theirs in (("MASK", self.masks, other.masks), ("DAR", self.dar, other.dar)):
            where = np.argwhere(mine != theirs)
            total += len(where)
            for index in where[: max(0, limit - len(lines))]:
                at = tuple(int(i) for i in index)
                lines.append(f"{name} {list(at)}: {int(mine[at])} / {int(theirs[at])}")
        bars = np.argwhere(self.base_registers != other.base_registers)
        total += len(bars)
        lines += [f"BAR {list(map(int, index))} differs" for index in bars[: max(0, limit - len(lines))]]
        for group in range(geometry().groups):
            found = _dram_differences(group, self.dram[group], other.dram[group])
            total += len(found)
            lines += found[: max(0, limit - len(lines))]
        if total > len(lines):
            lines.append(f"... {total} differences in all")
        return lines

    def save(self, path: Path | str) -> None:
        """Write a compressed file. Raises CompileError where that is impossible."""
        target = _path(path)
        named: dict[str, NDArray[np.generic]] = {}
        pes = self.arrays[Memory.LM0].shape[-1]  # of its machine, which need not be the one in use
        for memory, values in self.arrays.items():
            rows = values.reshape(-1, pes)  # most rows are zero and are left out
            used = np.flatnonzero(rows.any(axis=1))
            named |= {f"rows_{memory.name}": used, memory.name: rows[used]}
            named[f"shape_{memory.name}"] = np.array(values.shape)
        named |= {"masks": self.masks, "base_registers": self.base_registers, "dar": self.dar}
        named |= {f"bank_{bank}": np.array(rows, "U1") for bank, rows in self.banks.items()}
        for group, dram in enumerate(self.dram):
            if dram.seed is not None:
                named[f"seed_{group}"] = np.array([str(number) for number in dram.seed])  # of any size
            for number, page in dram.pages.items():
                named[f"dram_{group}_{number}"] = page.longs
                named[f"written_{group}_{number}"] = page.written
        with whole_file(target) as file:
            np.savez_compressed(file, **named)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> "Snapshot":
        """Read a file of `save`, for the machine in use. Raises CompileError when it is none."""
        source = _path(path)
        try:
            with open_npz(source) as file:
                arrays = {}
                for memory, shape in _shapes().items():
                    if tuple(file[f"shape_{memory.name}"]) != shape:
                        raise ValueError("it is of another machine")
                    arrays[memory] = np.zeros(shape, np.uint64)
                    arrays[memory].reshape(-1, geometry().pes)[file[f"rows_{memory.name}"]] = file[memory.name]
                banks = {bank: file[f"bank_{bank}"].tolist() for bank in "xy"}
                dram = [Dram() for _ in range(geometry().groups)]
                for name in file.files:
                    if name.startswith("dram_"):
                        _, group, number = name.split("_")
                        page = Page(file[name], file[f"written_{group}_{number}"])
                        dram[int(group)].pages[int(number)] = page
                    elif name.startswith("seed_"):
                        seed, group = map(int, file[name])
                        dram[group].seed = seed, group
                return cls(arrays, file["masks"], file["base_registers"], file["dar"], dram, banks)
        except UNREADABLE as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            hint = "give a file that the method save of a snapshot wrote, of the same machine"
            raise CompileError(f"cannot read '{source}' as a snapshot: {reason}", hint=hint) from None


def _path(given: Any) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise CompileError(f"the file of a snapshot is a value of type {type(given).__name__}", hint="give a path")
    return Path(given)


def _place(memory: Memory, index: tuple[int, ...]) -> str:
    """Coordinates and address of an element of `_storage`."""
    if memory is Memory.PDM:
        return f"{coordinates_text(index[0])} long {index[1]}"
    if memory is Memory.L2BM:
        return f"{coordinates_text(*divmod(index[0], geometry().l2bs_per_group))} long {index[1]}"
    block, row, pe = index
    if memory is Memory.L1BM:
        return f"{block_text(block)} long {geometry().pes * row + pe}"
    where = block_text(block, pe)
    if memory is Memory.T:
        return f"{where} cycle {row % CYCLES} {'LSB' if row >= CYCLES else 'MSB'} long"
    return f"{where} word {2 * row}" if memory in _WORD_ADDRESSED else f"{where} row {row}"


def _dram_differences(group: int, mine: Dram, theirs: Dram) -> list[str]:
    lines = []
    for number in sorted(set(mine.pages) | set(theirs.pages)):
        first = number * PAGE_LONGS % geometry().dram_longs
        a, b = mine.read(first, PAGE_LONGS), theirs.read(first, PAGE_LONGS)
        for at in np.flatnonzero(a != b):
            lines.append(f"DRAM n{group} long {first + int(at)}: 0x{int(a[at]):016x} / 0x{int(b[at]):016x}")
    return lines
