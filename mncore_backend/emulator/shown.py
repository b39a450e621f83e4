"""Strict mode judges results: what a `d get` shows, or the host takes, must not depend on words that nobody wrote."""

from typing import TYPE_CHECKING

import numpy as np

from mnc.mncore_backend.assembly.records import DebugOperand, Memory
from mnc.mncore_backend.emulator.debug import LEVELS, selection, sizes, units_of
from mnc.mncore_backend.emulator.errors import block_text, coordinates_text
from mnc.mncore_backend.emulator.geometry import CYCLES
from mnc.mncore_backend.emulator.state import PLANES
from mnc.mncore_backend.emulator.taint import FULL, HIGH, LOW

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.engine import Engine

_WHAT = "a value that is shown"
_LAST_WRITABLE_MASK = 15


def check_shown(engine: "Engine", operand: DebugOperand, count: int) -> None:
    """Raise UninitialisedRead if poison is among the units that a debug operand names."""
    memory = operand.memory
    if memory is Memory.DRAM:
        for (group,) in units_of(operand):
            check_dram(engine, group, operand.address, count)
    elif memory in LEVELS and memory not in PLANES:
        _check_upper(engine, operand, count * (2 if operand.width == 4 else 1))
    elif memory in PLANES:
        _check_bank(engine, operand, count)
    else:
        _check_pe(engine, operand, count)


def check_dram(engine: "Engine", group: int, address: int, count: int) -> None:
    """The same for long words of DRAM."""
    missing = engine.state.dram[group].first_unwritten(address, count)
    if missing is not None:
        engine.shadow.fail(_WHAT, engine.shadow.origin_of_dram(group, missing), coordinates_text(group))


def _check_upper(engine: "Engine", operand: DebugOperand, count: int) -> None:
    memory, shadow = operand.memory, engine.shadow
    at = (operand.address + np.arange(count)) % sizes()[memory]
    for unit in units_of(operand):
        if memory is Memory.L1BM:
            block = 16 * unit[0] + 8 * unit[1] + unit[2]
            clean = (shadow.l1bm[at] >> np.uint64(block) & np.uint64(1)).astype(np.bool_)
        else:
            instance = unit[0] if memory is Memory.PDM else 2 * unit[0] + unit[1]
            clean = shadow.upper_bits(memory)[instance, at]
        if not clean.all():
            first = int(at[np.argmin(clean)])
            origin = shadow.origin_of_upper(memory, first, engine.line)
            shadow.fail(_WHAT, origin, coordinates_text(*unit))


def _check_bank(engine: "Engine", operand: DebugOperand, count: int) -> None:
    bank = PLANES[operand.memory]
    written, known = engine.context.banks[bank], engine.shadow.banks[bank]
    blocks, pes = selection(operand)
    for row in range(operand.address, operand.address + count * (2 if operand.width == 4 else 1)):
        if not written[row % 16]:
            engine.shadow.fail(_WHAT, (engine.line, f"row {row % 16} of $l{bank}"))
        if known is not None and known[0][np.ix_(blocks, [row % 16], pes)].any():
            engine.shadow.fail(_WHAT, known[1] or (engine.line, "a word"))


def _check_pe(engine: "Engine", operand: DebugOperand, count: int) -> None:
    """Word by word for single words; T in entries, mask registers in cycles of entries."""
    memory, shadow = operand.memory, engine.shadow
    blocks, pes = selection(operand)
    if memory is Memory.MASK:
        entries = [e for e in range(operand.address, operand.address + count) if 1 <= e <= _LAST_WRITABLE_MASK]
        shown = [(entry * CYCLES + cycle, FULL) for entry in entries for cycle in range(CYCLES)]
    elif memory is Memory.T:
        longs = range(2) if operand.width == 4 else range(1)
        shown = [(2 * entry + part, FULL) for entry in range(min(count, CYCLES)) for part in longs]
    elif operand.width == 1:
        words = [(operand.address + i) % (2 * sizes()[memory]) for i in range(count)]
        shown = [(word >> 1, LOW if word & 1 else HIGH) for word in words]
    else:
        words = range(operand.address, operand.address + count * operand.width, 2)
        shown = [((word >> 1) % sizes()[memory], FULL) for word in words]
    for long, bits in shown:
        poison = shadow.nibbles(memory, long)[np.ix_(blocks, pes)] & bits
        if poison.any():
            block, pe = (int(i) for i in np.argwhere(poison)[0])
            origin = shadow.origin(memory, long, int(poison[block, pe]))
            shadow.fail(_WHAT, origin, block_text(blocks[block], pes[pe]))
