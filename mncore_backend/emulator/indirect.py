"""Addresses that depend on data: T-indirect, ``j`` and unequal base registers (SDM 3.6.1.6)."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.emulator.arena import arena_layout
from mnc.mncore_backend.emulator.context import Context
from mnc.mncore_backend.emulator.errors import EmulationError, block_text
from mnc.mncore_backend.emulator.geometry import CYCLES, geometry
from mnc.mncore_backend.emulator.taint import LOW, Origin
from mnc.mncore_backend.target import cached_per_machine

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.engine import Engine



@cached_per_machine()
def _places() -> NDArray[np.int64]:
    """Long word of the arena at which row 0 of every PE stands, [block, 1, PE]."""
    pes = geometry().pes
    return np.arange(geometry().blocks)[:, None, None] * (arena_layout().rows * pes) + np.arange(pes)


class DynamicTarget(NamedTuple):
    """Where a dynamic store goes, taken before the step changes T or masks: first words and ones in the bits to write
    (MSB and LSB long), all [block, cycle, PE]."""

    words: NDArray[np.int64]
    keep_msb: NDArray[np.uint64]
    keep_lsb: NDArray[np.uint64]


def is_dynamic(operand: Operand, context: Context) -> bool:
    """Do the addresses differ between PEs or depend on T?"""
    if operand.memory not in (Memory.LM0, Memory.LM1):
        return False
    if operand.t_indirect or operand.pe_offset is not None:
        return True
    return context.bars[operand.memory is Memory.LM1] is None


def dynamic_words(engine: "Engine", operand: Operand) -> NDArray[np.int64]:
    """First word of the access, [block, cycle, PE]; rounded down to the width and wrapped, an error in strict mode."""
    which = int(operand.memory is Memory.LM1)
    words = np.zeros((geometry().blocks, CYCLES, geometry().pes), np.int64)
    if operand.t_indirect:
        words += engine.state.arena.region("t")[:, :CYCLES].view(np.int64) & 0xFFFFFFFF
    words += np.array(operand.addresses(), np.int64)[None, :, None]
    if engine.context.bars[which] != 0:
        words += engine.state.base_registers()[:, which, None, :].astype(np.int64)
    if operand.pe_offset is not None:
        words += np.where(np.arange(geometry().pes) % 4 <= operand.pe_offset, operand.width, 0)[None, None, :]
    # Sizes are powers of two: the bits that an aligned address may have.
    inside = 2 * geometry().longs[operand.memory] - operand.width
    if not (words & ~inside).any():
        return words
    if engine.strict:
        _check_words(engine, operand, words)
    return words & inside


def poisoned_addresses(engine: "Engine", operand: Operand) -> tuple[NDArray[np.bool_] | None, Origin | None]:
    """PEs [block, cycle, PE] whose address depends on words that nobody wrote, None if there are none, and where that
    comes from. Raises UninitialisedRead if no step has written T."""
    shadow, bad, origin = engine.shadow, None, None
    if operand.t_indirect:
        if shadow.is_untouched(Memory.T, range(4 * CYCLES)):
            shadow.fail(f"an address of ${operand.memory.value}", shadow.origin(Memory.T, 0))
        found = np.stack([shadow.nibbles(Memory.T, 2 * c) & LOW for c in range(CYCLES)], axis=1) != 0
        if found.any():
            cycle = int(np.argmax(found.any(axis=(0, 2))))
            bad, origin = found, shadow.origin(Memory.T, 2 * cycle)
    bar = shadow.bars[operand.memory is Memory.LM1] if operand.memory in (Memory.LM0, Memory.LM1) else None
    if bar is not None:
        spread = np.broadcast_to(bar[0][:, None, :], (geometry().blocks, CYCLES, geometry().pes))
        bad, origin = (spread, bar[1]) if bad is None else (bad | spread, origin)
    return bad, origin


def _check_words(engine: "Engine", operand: Operand, words: NDArray[np.int64]) -> None:
    """Raise EmulationError for an address outside memory; what a PE computes from words nobody wrote is no address."""
    outside = (words > 2 * geometry().longs[operand.memory] - operand.width) | (words < 0)
    for wrong, reason, rule in (
        (outside, "would wrap around", "wrap-around"),
        (words % operand.width != 0, f"is not a multiple of {operand.width} words", "misaligned"),
    ):
        if wrong.any() and (bad := poisoned_addresses(engine, operand)[0]) is not None:
            wrong = wrong & ~bad
        if wrong.any():
            block, cycle, pe = (int(i) for i in np.argwhere(wrong)[0])
            message = f"address {words[block, cycle, pe]} of ${operand.memory.value} in cycle {cycle} {reason}"
            raise EmulationError(message, engine.line, engine.file_name, block_text(block, pe), rule)


def _memory(engine: "Engine", operand: Operand) -> NDArray[np.uint64]:
    return engine.state.arena.region(operand.memory.value)


def _longs(engine: "Engine", operand: Operand, words: NDArray[np.int64], distance: int = 0) -> NDArray[np.uint64]:
    """The long words [block, cycle, PE] of a memory in which words lie, or so many behind."""
    places = ((words >> 1) + (arena_layout().regions[operand.memory.value][0] + distance)) * geometry().pes
    places += _places()
    return engine.state.arena.rows.reshape(-1).take(places)


def fetch_dynamic(engine: "Engine", operand: Operand, msb_row: int, lsb_row: int | None) -> None:
    """Gather into scratch rows what every PE reads."""
    words = engine.dynamic_words(operand)
    rows = engine.state.arena.rows
    longs = _longs(engine, operand, words)
    if operand.width == 1:
        longs = np.where(words & 1, longs << np.uint64(32), longs & np.uint64(0xFFFFFFFF00000000))
    rows[:, msb_row : msb_row + CYCLES] = longs
    if lsb_row is not None:
        rows[:, lsb_row : lsb_row + CYCLES] = _longs(engine, operand, words, 1)


def store_dynamic(
    engine: "Engine",
    operand: Operand,
    msb: NDArray[np.uint64],
    lsb: NDArray[np.uint64],
    target: DynamicTarget,
) -> None:
    """Scatter [block, cycle, PE] values, cycle by cycle so that a later cycle wins."""
    words, keep = target.words, (target.keep_msb, target.keep_lsb)
    memory = _memory(engine, operand)
    for cycle in range(CYCLES):
        at = words[:, cycle : cycle + 1]
        value, mask = msb[:, cycle : cycle + 1], keep[0][:, cycle : cycle + 1]
        if operand.width == 1:
            odd = (at & 1).astype(bool)
            high = np.uint64(0xFFFFFFFF00000000)
            value = np.where(odd, value >> np.uint64(32), value & high)
            mask = np.where(odd, mask >> np.uint64(32), mask & high)
        _merge(memory, at >> 1, value, mask)
        if operand.width == 4:
            _merge(memory, (at >> 1) + 1, lsb[:, cycle : cycle + 1], keep[1][:, cycle : cycle + 1])


def _merge(
    memory: NDArray[np.uint64], longs: NDArray[np.int64], value: NDArray[np.uint64], mask: NDArray[np.uint64]
) -> None:
    old = np.take_along_axis(memory, longs, axis=1)
    np.put_along_axis(memory, longs, (old & ~mask) | (value & mask), axis=1)
