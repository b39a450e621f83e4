"""``d set``, ``d get`` and DRAM presets (SDM 3.4.3, 3.4.4): access to every memory in the units of the statement."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.debug_lines import largest_count
from mnc.mncore_backend.assembly.records import DebugGet, DebugOperand, DebugSet, DramPreset, Memory
from mnc.mncore_backend.emulator.debug_format import format_element, format_mask
from mnc.mncore_backend.emulator.geometry import CYCLES, PES_PER_MAB, geometry
from mnc.mncore_backend.emulator.shadow import Shadow
from mnc.mncore_backend.emulator.state import PLANES, State
from mnc.mncore_backend.target import cached_per_machine

LEVELS = {Memory.PDM: 1, Memory.DRAM: 1, Memory.L2BM: 2, Memory.L1BM: 3}
LETTERS = "ncbmp"
DUMP_LIMIT = 1 << 20
NAMES = {
    Memory.PDM: "PDM",
    Memory.DRAM: "DRAM",
    Memory.L2BM: "L2BM",
    Memory.L1BM: "L1BM",
    Memory.LM0: "LM0",
    Memory.LM1: "LM1",
    Memory.GRF0: "GREG0",
    Memory.GRF1: "GREG1",
    Memory.T: "TREG",
    Memory.MASK: "OMR",
    Memory.MATRIX_X: "MATX",  # OPEN-02
    Memory.MATRIX_Y: "MATY",
}


@cached_per_machine()
def _counts() -> tuple[int, ...]:
    """Units of each level under one of the level above."""
    own = geometry()
    return own.groups, own.l2bs_per_group, own.l1bs_per_l2b, geometry().mabs, PES_PER_MAB


@cached_per_machine()
def sizes() -> dict[Memory, int]:
    """Long words, or rows of a matrix register, of one copy of each memory."""
    shown = (*LEVELS, *_WORD_MEMORIES, Memory.MATRIX_X, Memory.MATRIX_Y)
    rows: dict[Memory, int] = {Memory.MATRIX_X: 16, Memory.MATRIX_Y: 16}
    return {memory: rows.get(memory, geometry().longs[memory]) for memory in shown}


_WIDTH_PREFIX = {1: "", 2: "l", 4: "ll"}
_WORD_MEMORIES = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
Unit = tuple[int, ...]


def units_of(operand: DebugOperand) -> list[Unit]:
    """Coordinates the scope names, outermost level slowest; omitted levels run over all values."""
    levels = LEVELS.get(operand.memory, 5)
    return list(product(*(_level(operand, i) for i in range(levels))))


def _level(operand: DebugOperand, index: int) -> Sequence[int]:
    """Values of one scope level. Raises ValueError for one that the machine does not have."""
    value, count = operand.scope[index], _counts()[index]
    if value is not None and value >= count:
        letter = LETTERS[index]
        raise ValueError(f"there is no {letter}{value} on this machine, the last is {letter}{count - 1}")
    return range(count) if value is None else (value,)


def _longs_per_unit(operand: DebugOperand) -> int:
    return 2 if operand.width == 4 else 1


def _unit_view(state: State, memory: Memory, unit: Unit) -> NDArray[np.uint64]:
    """Long words of one instance of a memory; T as [cycle, MSB/LSB]."""
    if memory is Memory.PDM:
        return state.pdm[unit[0]]
    if memory is Memory.L2BM:
        return state.l2bm[geometry().l2b(unit[0], unit[1])]
    block = geometry().block(*unit[:3])
    if memory is Memory.L1BM:
        return state.arena.l1bm()[block]
    pe = 4 * unit[3] + unit[4]
    if memory is Memory.T:
        return state.arena.region("t")[block, :, pe].reshape(2, CYCLES).T
    return state.arena.region(PLANES.get(memory, memory.value))[block, :, pe]


def _read_unit(state: State, operand: DebugOperand, unit: Unit, count: int) -> list[int]:
    """Payload longs of one instance, in statement units; a single word stands in the MSB half."""
    memory, width = operand.memory, operand.width
    if memory is Memory.DRAM:
        return state.dram[unit[0]].read(operand.address, count).tolist()
    view = _unit_view(state, memory, unit)
    if memory is Memory.T:
        entries = view[np.arange(count) % CYCLES]
        return entries.reshape(-1).tolist() if width == 4 else entries[:, 0].tolist()
    if memory not in _WORD_MEMORIES:
        longs = (operand.address + np.arange(count * _longs_per_unit(operand))) % sizes()[memory]
        return view[longs].tolist()
    words = operand.address + np.arange(count * width)
    size = 2 * sizes()[memory]
    if width == 1:
        found = view[words % size >> 1]
        return np.where(words & 1, found << np.uint64(32), found & np.uint64(0xFFFFFFFF00000000)).tolist()
    return view[words[::2] % size >> 1].tolist()


def _check_count(operand: DebugOperand, count: int) -> None:
    """Raise ValueError for a count beyond the memory and for a dump of more elements than `DUMP_LIMIT`."""
    limit = largest_count(operand)
    if count > limit:
        raise ValueError(f"count {count} is beyond the {limit} units of {NAMES[operand.memory]}")
    total = count * len(units_of(operand))
    if total > DUMP_LIMIT:
        raise ValueError(f"{total} elements are more than the {DUMP_LIMIT} of one d get; name fewer instances")


def get_lines(state: State, statement: DebugGet) -> list[str]:
    """The lines a ``d get`` prints. Raises ValueError when the memory or the count is wrong."""
    operand, count = statement.operand, statement.count
    _check_count(operand, count)
    echo = _echo(statement)
    if operand.memory is Memory.MASK:
        return [line for unit in units_of(operand) for line in _mask_lines(state, operand, unit, count, echo)]
    if operand.memory in PLANES and not statement.dtype:
        raise ValueError("d get of a matrix register needs a dtype, such as getd")
    lines = []
    per_unit = _longs_per_unit(operand)
    step = operand.width if operand.memory in _WORD_MEMORIES else per_unit
    for unit in units_of(operand):
        values = _read_unit(state, operand, unit, count)
        scope = _scope_text(unit)
        for index, value in enumerate(values):
            address = operand.address + index // per_unit * step + index % per_unit * (2 if step == 4 else 1)
            if operand.memory is Memory.T:
                address = index // per_unit
            is_word = operand.width == 1 and operand.memory in _WORD_MEMORIES
            text = format_element(value, statement.dtype, is_word)
            lines.append(f"DEBUG-{NAMES[operand.memory]}({scope},{address}):{text} #{echo}")
    return lines


def read_values(state: State, statement: DebugGet) -> list[int]:
    """Payload longs a ``d get`` would print, units in order; for programs that compare instead of reading text."""
    operand = statement.operand
    _check_count(operand, statement.count)
    return [value for unit in units_of(operand) for value in _read_unit(state, operand, unit, statement.count)]


def _mask_lines(state: State, operand: DebugOperand, unit: Unit, count: int, echo: str) -> list[str]:
    block, pe = geometry().block(*unit[:3]), 4 * unit[3] + unit[4]
    lines = []
    for entry in range(operand.address, operand.address + count):
        for cycle in range(CYCLES):
            nibble = _constant_nibble(entry, cycle)
            if nibble is None:
                nibble = int(state.arena.masks()[block, entry, cycle, pe])
            lines.append(format_mask(_scope_text(unit), entry, nibble, echo))
    return lines


def _constant_nibble(entry: int, cycle: int) -> int | None:
    if entry in (0, 31):
        return 15
    return 15 * (entry - 16 >> (3 - cycle) & 1) if entry >= 16 else None


def _scope_text(unit: Unit) -> str:
    return "".join(f"{letter}{value}" for letter, value in zip(LETTERS, unit, strict=False))


def _echo(statement: DebugGet) -> str:
    """The statement rebuilt from its operands; ``$t`` is echoed as ``$lt`` (tutorial output)."""
    operand = statement.operand
    letter, address, width = operand.memory.value, str(operand.address), _WIDTH_PREFIX[operand.width]
    if operand.memory is Memory.T:
        address, width = "", "ll" if operand.width == 4 else "l"
    elif operand.memory is Memory.L1BM:
        letter = "b"
    elif operand.memory in (Memory.PDM, Memory.DRAM, Memory.L2BM, Memory.MASK):
        width = ""
    scope = "".join(f"{name}{value}" for name, value in zip(LETTERS, operand.scope, strict=True) if value is not None)
    return f"d get{statement.dtype} ${width}{letter}{address}{scope} {statement.count}"


def set_memory(state: State, shadow: Shadow, statement: DebugSet) -> None:
    """Execute a ``d set``. Raises ValueError when the payload does not fit or the memory cannot be set."""
    operand, count = statement.operand, statement.count
    memory = operand.memory
    if memory in (Memory.PDM, Memory.DRAM, Memory.MASK, Memory.MATRIX_X, Memory.MATRIX_Y):
        raise ValueError(f"d set cannot write {NAMES[memory]}")
    per_unit = _longs_per_unit(operand)
    if len(statement.payload) != count * per_unit:
        raise ValueError(f"d set needs {count * per_unit} long words of payload, got {len(statement.payload)}")
    values = np.array(statement.payload, np.uint64)
    if memory in _WORD_MEMORIES:
        _set_words(state, shadow, operand, values)
    elif memory is Memory.T:
        _set_t(state, shadow, operand, values)
    else:
        longs = (operand.address + np.arange(len(values))) % sizes()[memory]
        for unit in units_of(operand):
            _unit_view(state, memory, unit)[longs] = values
            _mark_upper(shadow, memory, unit, longs)


def _mark_upper(shadow: Shadow, memory: Memory, unit: Unit, longs: NDArray[np.int64]) -> None:
    if memory is Memory.L2BM:
        shadow.l2bm[geometry().l2b(unit[0], unit[1]), longs] = True
    else:
        shadow.l1bm[longs] |= np.uint64(1 << (geometry().block(*unit[:3])))


def selection(operand: DebugOperand) -> tuple[list[int], list[int]]:
    """(blocks, PEs of a block) of a scope."""
    n, c, b, m, p = (_level(operand, i) for i in range(5))
    return [geometry().block(x, y, z) for x in n for y in c for z in b], [4 * x + y for x in m for y in p]


def _mark_words(shadow: Shadow, memory: Memory, words: range, blocks: list[int], pes: list[int]) -> None:
    if shadow.enabled:
        where = np.zeros((geometry().blocks, geometry().pes), np.bool_)
        where[np.ix_(blocks, pes)] = True
        shadow.mark_words(memory, words, where)


def _set_words(state: State, shadow: Shadow, operand: DebugOperand, values: NDArray[np.uint64]) -> None:
    region = state.arena.region(operand.memory.value)
    blocks, pes = selection(operand)
    size = 2 * sizes()[operand.memory]
    if operand.width == 1:
        for index, value in enumerate(values):
            word = (operand.address + index) % size
            shift = np.uint64(32 * (1 - (word & 1)))
            at = np.ix_(blocks, [word >> 1], pes)
            kept = region[at] & ~(np.uint64(0xFFFFFFFF) << shift)
            region[at] = kept | ((value >> np.uint64(32)) << shift)
        words = len(values)
    else:
        longs = (operand.address // 2 + np.arange(len(values))) % sizes()[operand.memory]
        if len(blocks) == 1 and len(pes) == 1:
            region[blocks[0], longs, pes[0]] = values
        else:
            region[np.ix_(blocks, longs.tolist(), pes)] = values[None, :, None]
        words = 2 * len(values)
    first = operand.address % size
    _mark_words(shadow, operand.memory, range(first, min(first + words, size)), blocks, pes)


def _set_t(state: State, shadow: Shadow, operand: DebugOperand, values: NDArray[np.uint64]) -> None:
    """``$t``, ``$lt``: the MSB long of each cycle's entry; ``$llt``: both longs (OPEN-03)."""
    region = state.arena.region("t")
    blocks, pes = selection(operand)
    count = min(operand.width // 2 or 1, 2)
    cycles = len(values) // count
    if cycles > CYCLES:
        raise ValueError("T has four entries")
    for cycle in range(cycles):
        for part in range(count):
            region[np.ix_(blocks, [CYCLES * part + cycle], pes)] = values[cycle * count + part]
        _mark_words(shadow, Memory.T, range(4 * cycle, 4 * cycle + 2 * count), blocks, pes)


def preset(state: State, statement: DramPreset) -> None:
    """Execute an ``r`` line: consecutive long words of one group's DRAM."""
    state.dram[statement.group].write(statement.address, np.array(statement.payload, np.uint64))
