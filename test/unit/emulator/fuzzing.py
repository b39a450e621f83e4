"""Random programs on prepared machines whose memory is watched.

Compiled kernels have no bounds checks, so the rows of all blocks stand between guard words, and after a program only
rows that its statements name may have changed. Everything a program may end with is success or an error with a line.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.assembly.accesses import accesses
from mnc.mncore_backend.assembly.records import DebugSet, Memory, Statement, Step
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.emulator.arena import Arena, arena_layout
from mnc.mncore_backend.emulator.dram import Dram
from mnc.mncore_backend.emulator.geometry import geometry

GUARD = np.uint64(0x5AFE5AFE5AFE5AFE)
GUARD_LONGS = 1 << 16
WATCHED = (0, 1, geometry().blocks - 1)
UNWATCHED = ("decoded_x", "decoded_y", "latch", "lbi", "scratch", "trash", "fault")
REGIONS = {
    Memory.LM0: "m", Memory.LM1: "n", Memory.GRF0: "r", Memory.GRF1: "s", Memory.T: "t", Memory.MASK: "omr",
    Memory.BAR0: "bar", Memory.BAR1: "bar", Memory.MATRIX_X: "x", Memory.MATRIX_Y: "y", Memory.L1BM: "lb",
}
WORDS_PER_ROW = {"m": 2, "n": 2, "r": 2, "s": 2, "lb": geometry().pes}


class WrittenDram(Dram):
    """Never refuses a read."""

    def first_unwritten(self, address: int, count: int) -> int | None:
        return None


@dataclass
class GuardedArena:
    """One arena with guard words on both sides, given to machine after machine."""

    flat: NDArray[np.uint64] = field(init=False)
    arena: Arena = field(init=False)
    template: NDArray[np.uint64] = field(init=False)

    def __post_init__(self) -> None:
        count = geometry().blocks * arena_layout().rows * geometry().pes
        self.flat = np.full(count + 2 * GUARD_LONGS + 8, GUARD, np.uint64)
        skip = (-self.flat.ctypes.data % 64) // 8 + GUARD_LONGS
        rows = self.flat[skip : skip + count].reshape(geometry().blocks, arena_layout().rows, geometry().pes)
        self.arena = Arena.over(rows)
        self.first, self.last = skip, skip + count
        self.template = _contents()
        rows[:] = self.template

    def check(self) -> None:
        """Raise AssertionError unless every guard word is as it was."""
        assert (self.flat[: self.first] == GUARD).all(), "written in front of the arena"
        assert (self.flat[self.last :] == GUARD).all(), "written behind the arena"


@cache
def _contents() -> NDArray[np.uint64]:
    """Rows of all blocks: patterns with many special values; half of them share the exponent of a block-float vector.
    Blocks differ, but repeat a few rows, which is enough to tell where a value came from."""
    rng = np.random.default_rng(7)
    words = rng.integers(0, 1 << 32, (8, arena_layout().rows, 2 * geometry().pes), dtype=np.uint32)
    values = np.array((0, 1 << 31, 0x7F800000, 0xFF800000, 0x3F800000, 0xFFFFFFFF, 1), np.uint32)
    special = rng.choice(values, words.shape)
    words = np.where(rng.integers(0, 6, words.shape) == 0, special, words)
    uniform = (words & np.uint32(0x01FF01FF)) | np.uint32(0x3E003E00)
    words = np.where((np.arange(arena_layout().rows) % 4 < 2)[None, :, None], uniform, words)
    contents = np.tile(np.ascontiguousarray(words).view(np.uint64), (geometry().blocks // 8, 1, 1))
    first, size = arena_layout().regions["fault"]
    contents[:, first : first + size] = 0
    return contents


ARENAS: dict[str, GuardedArena] = {}


def prepared(mode: str, seed: int) -> tuple[Machine, GuardedArena]:
    """A machine whose memories hold the same data for the same seed in both modes, everything written.

    seed % 4: 0 base registers 0 and small even T; 1 hostile T and base registers; 2 equal base registers in all PEs;
    3 as 0 with T in multiples of 4."""
    guarded = ARENAS.get(mode) or ARENAS.setdefault(mode, GuardedArena())
    original, Arena.allocate = Arena.allocate, classmethod(lambda cls: cls.over(guarded.arena.rows))  # pyright: ignore
    try:
        machine = Machine(mode, threads=1 + (seed >> 2) % 2)
    finally:
        Arena.allocate = original
    rng = np.random.default_rng(seed)
    state, engine = machine.engine.state, machine.engine
    state.l2bm[:, ::16] = rng.integers(0, 1 << 62, (8, 1), dtype=np.uint64)
    state.pdm[:, :4096] = rng.integers(0, 1 << 62, (4, 4096), dtype=np.uint64)
    for group in range(4):
        state.dram[group] = WrittenDram()
        state.dram[group].write(0, rng.integers(0, 1 << 62, 4096, dtype=np.uint64))
    state.dar[:] = rng.integers(0, 1 << (32 if seed % 4 == 1 else 8), state.dar.shape)
    _set_registers(machine, seed % 4, rng)
    engine.shadow.mark_everything()
    precisions = rng.choice(list("dfgh"), 2)
    engine.context.banks = {"x": [str(precisions[0])] * 16, "y": [str(precisions[1])] * 16}
    return machine, guarded


def _set_registers(machine: Machine, kind: int, rng: np.random.Generator) -> None:
    """T, base registers and masks (nibbles of 4 bits)."""
    engine = machine.engine
    shape = engine.state.arena.region("t").shape
    step, limit = (4, 256) if kind == 3 else (2, 512)
    t = rng.integers(0, limit, shape, dtype=np.uint64) * np.uint64(step)
    bars = np.zeros((geometry().blocks, 2, geometry().pes), np.uint64)
    if kind == 1:
        t = rng.integers(0, 1 << 64, shape, dtype=np.uint64)
        bars = rng.integers(0, 1 << 12, bars.shape, dtype=np.uint64)
    elif kind == 2:
        bars[:] = rng.integers(0, 512, dtype=np.uint64) * np.uint64(4)
    engine.state.arena.region("t")[:] = t
    engine.state.base_registers()[:] = bars
    engine.state.arena.masks()[:] = rng.integers(0, 16, engine.state.arena.masks().shape, dtype=np.uint8)
    for index in range(2):
        engine.base_register_changed(index)


def written_rows(statements: Iterable[Statement]) -> dict[str, set[int] | None]:
    """Rows of each region that statements may write; None: any row, because the address depends on data."""
    found: dict[str, set[int] | None] = {}
    for statement in statements:
        if isinstance(statement, DebugSet):
            found[REGIONS.get(statement.operand.memory, "")] = None
        if not isinstance(statement, Step):
            continue
        for access in (a for e in statement.expressions for a in accesses(e)):
            region = REGIONS.get(access.memory)
            if not access.write or region is None:
                continue
            if region not in WORDS_PER_ROW or not access.exact:
                found[region] = None
            elif (rows := found.setdefault(region, set())) is not None:
                size = WORDS_PER_ROW[region]
                ranges = [r for cycle in access.cycles for r in cycle]
                rows |= {row for first, last in ranges for row in range(first // size, -(-last // size))}
    return found


def watch(mode: str, seed: int, statements: list[Statement]) -> CompileError | None:
    """Run a program on a prepared machine, then look for writes that no statement asked for. Returns its `outcome`."""
    machine, guarded = prepared(mode, seed)
    allowed = written_rows(statements)
    if seed % 4 in (1, 2) or "bar" in allowed:  # displaced local memory
        allowed |= {region: None for region in "mn" if region in allowed}
    before = {region: guarded.arena.region(region)[list(WATCHED)].copy() for region in ("t", "omr", "bar")}
    try:
        error = outcome(machine, statements)
        guarded.check()
        for region in set(arena_layout().regions) - set(UNWATCHED):
            _check_region(guarded, region, allowed.get(region, set()), before.get(region))
    finally:
        restore(guarded, allowed)
    return error


def _check_region(
    guarded: GuardedArena, region: str, allowed: set[int] | None, before: NDArray[np.uint64] | None
) -> None:
    if allowed is None:
        return
    first, count = arena_layout().regions[region]
    blocks = list(WATCHED)
    expected = before if before is not None else guarded.template[blocks, first : first + count]
    changed = (guarded.arena.region(region)[blocks] != expected).any(axis=(0, 2))
    changed[list(allowed)] = False
    assert not changed.any(), f"rows {np.flatnonzero(changed)[:5].tolist()} of {region} changed"


def restore(guarded: GuardedArena, allowed: dict[str, set[int] | None]) -> None:
    """Put back what a program may have written."""
    for region in {*allowed, *UNWATCHED} - {""}:
        first, count = arena_layout().regions[region]
        rows = allowed.get(region)
        at = slice(first, first + count) if rows is None else [first + row for row in rows]
        guarded.arena.rows[:, at] = guarded.template[:, at]


def program_text(statements: list[Statement]) -> str:
    """One statement per line."""
    return "\n".join(print_statement(s) for s in statements)


def outcome(machine: Machine, statements: list[Statement]) -> CompileError | None:
    """Run a program: the error it ended with, which must name one of its lines, or None."""
    try:
        machine.run(program_text(statements), "fuzz.vsm")
    except CompileError as error:
        line = getattr(error, "line", 0)
        assert 1 <= line <= len(statements), f"no line of the program in: {error.render()}"
        return error
    return None
