"""A step that meets poison: follows it from the operands through the units to the destinations.

Runs before the kernels of the step, on the state before it. Poison in a lane is no error; it becomes one where it
reaches a `d get`, an output, or decides in every PE where something is read or written.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mnc.mncore_backend.assembly.records import FIXED_VALUES, Expression, Mask, Memory, Operand, Step
from mnc.mncore_backend.emulator import poison_transfers
from mnc.mncore_backend.emulator import poison_units as units
from mnc.mncore_backend.emulator.arena import CYCLES
from mnc.mncore_backend.emulator.context import LATCH_OF
from mnc.mncore_backend.emulator.decode import unit_of
from mnc.mncore_backend.emulator.decode_l1bm import Port, turnaround_longs
from mnc.mncore_backend.emulator.decode_mau import BANK, MATRIX, ROWS_OF, split_mau
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.indirect import is_dynamic, poisoned_addresses
from mnc.mncore_backend.emulator.l2bm import L2bmPlan
from mnc.mncore_backend.emulator.masks import resolve
from mnc.mncore_backend.emulator.operands import static_words
from mnc.mncore_backend.emulator.poison_destinations import Destinations
from mnc.mncore_backend.emulator.reductions import split_reduction
from mnc.mncore_backend.emulator.taint import (
    FULL,
    HIGH,
    LOW,
    Nibbles,
    Origin,
    Taint,
    clean,
    governed,
    narrowed,
    unpoisoned,
    widened,
)
from mnc.mncore_backend.emulator.upper_shadow import ring

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.engine import Engine

_ADDEND = {"d": "d", "f": "f", "g": "f", "h": "hf"}


class PoisonedStep:
    """One step; `run` changes the shadow as the step will change the machine, apart from L2BM transfers."""

    def __init__(
        self, engine: "Engine", statement: Step, l2bm: Sequence[L2bmPlan], *, keeps_latches: bool
    ) -> None:
        self.engine = engine
        self.shadow = engine.shadow
        self.statement = statement
        self.l2bm = l2bm
        self.keeps_latches = keeps_latches
        self.latches: dict[str, Taint] = {}
        self.commits: list[Callable[[], None]] = []  # after all reads of the step
        suspended = any(d.mask is not None for e in statement.expressions for d in e.destinations)
        self.destinations = Destinations(engine, suspended)

    def run(self) -> None:
        """Follow every expression, then put what they leave."""
        for expression in self.statement.expressions:
            unit = unit_of(expression.opcode)
            if unit == "alu":
                self._alu(expression)
            elif unit == "mau":
                self._mau(expression)
            elif unit == "mwrite":
                self._matrix_write(expression)
            elif unit == "mread":
                self._matrix_read(expression)
            elif unit == "l1bm":
                self._l1bm(expression)
        self.commits += [poison_transfers.move_l2bm(self.shadow, self.engine.state, plan) for plan in self.l2bm]
        for commit in self.commits:
            commit()
        self.destinations.commit()
        if not self.keeps_latches:
            self.shadow.latches = {unit: taint for unit, taint in self.latches.items() if not taint.is_clean}
        self.shadow.note_poison_aside()

    # ---- sources ----

    def _value(self, operand: Operand) -> Taint:
        memory, shadow = operand.memory, self.shadow
        if memory in LATCH_OF:
            return shadow.latches.get(LATCH_OF[memory], unpoisoned())
        if memory in FIXED_VALUES:
            return unpoisoned()
        if memory is Memory.T:
            return self._longs(memory, [2 * c for c in range(CYCLES)], 4)
        if is_dynamic(operand, self.engine.context):
            return self._dynamic(operand)
        words = static_words(operand, self.engine.context, True)
        value = self._narrow(operand, self._longs(memory, [word >> 1 for word in words], operand.width), words)
        bad, origin = poisoned_addresses(self.engine, operand)
        if bad is None:
            return value
        return Taint(np.where(bad, FULL, value.msb), np.where(bad, FULL, value.lsb), value.origin or origin)

    def _longs(self, memory: Memory, longs: list[int], width: int) -> Taint:
        parts, origin = [], None
        for offset in range(2 if width == 4 else 1):
            found = [self.shadow.nibbles(memory, long + offset) for long in longs]
            for long, nibbles in zip(longs, found, strict=True):
                if origin is None and nibbles.any():
                    bits = int(np.bitwise_or.reduce(nibbles, axis=None))
                    origin = self.shadow.origin(memory, long + offset, bits)
            parts.append(np.stack(found, axis=1))
        return Taint(parts[0], parts[1] if len(parts) == 2 else clean(), origin)

    def _narrow(self, operand: Operand, value: Taint, words: tuple[int, ...]) -> Taint:
        """A single word stands in D0."""
        if operand.width != 1:
            return value
        odd = np.array([word & 1 for word in words], np.bool_)[None, :, None]
        return value._replace(msb=np.where(odd, (value.msb & LOW) << 2, value.msb & HIGH))

    def _dynamic(self, operand: Operand) -> Taint:
        """Data-dependent addresses; PEs whose address is poisoned read poison."""
        words = self.engine.dynamic_words(operand)
        shadow, memory = self.shadow, operand.memory
        parts, origin = [], None
        for offset in range(2 if operand.width == 4 else 1):
            longs = (words >> 1) + offset
            out = np.zeros(longs.shape, np.uint8)
            for long in np.unique(longs).tolist():
                nibbles = shadow.nibbles(memory, long)
                if nibbles.any():
                    out |= np.where(longs == long, nibbles[:, None, :], np.uint8(0))
                    origin = origin or shadow.origin(memory, long, int(np.bitwise_or.reduce(nibbles, axis=None)))
            parts.append(out)
        if operand.width == 1:
            parts[0] = np.where(words & 1, (parts[0] & LOW) << 2, parts[0] & HIGH)
        bad, source = poisoned_addresses(self.engine, operand)
        if bad is not None:
            parts = [np.where(bad, FULL, part) for part in parts]
        return Taint(parts[0], parts[1] if len(parts) == 2 else clean(), origin or source)

    def _source(self, operand: Operand, expected: str) -> Taint:
        value = self._value(operand)
        if operand.suffix == "r":
            return narrowed(value)
        return widened(value, expected) if operand.suffix == "e" else value

    # ---- results ----

    def _deliver(self, unit: str, expression: Expression, value: Taint, flags: Nibbles | None) -> None:
        if expression.zero_flush is not None:
            value = self._flushed(value, expression.zero_flush)
        self.latches[unit] = value
        for operand in expression.destinations:
            self.destinations.store(operand, value, flags)

    def _flushed(self, value: Taint, mask: Mask) -> Taint:
        """What a zero-flush mask lets through; where the mask is poisoned, the result is."""
        resolved = resolve(mask)
        bits, poison, origin = self.destinations.mask_bits(resolved)
        msb, lsb = governed(bits, resolved.two_long)
        bad_msb, bad_lsb = governed(poison, resolved.two_long)
        kept_lsb = value.lsb & lsb if resolved.two_long else value.lsb
        return Taint((value.msb & msb) | bad_msb, kept_lsb | bad_lsb, value.origin or origin)

    def _alu(self, expression: Expression) -> None:
        if not expression.sources:
            self._deliver("alu", expression, unpoisoned(), None)
            return
        precision = "" if expression.opcode in ("msl", "msr") else expression.opcode.removeprefix("u")[0]
        x, *rest = [self._source(operand, precision) for operand in expression.sources]
        self._deliver("alu", expression, *units.alu(expression, x, rest[0] if rest else None))

    def _mau(self, expression: Expression) -> None:
        precision, operation, half = split_mau(expression.opcode)
        reduces, sources = "r" in expression.modifier, expression.sources
        has_addend = operation in ("mfma", "vfma", "vadd")
        addend = self._source(sources[-1], _ADDEND[precision]) if has_addend else None
        if operation in MATRIX:
            bank, origin = self._bank(BANK[sources[0].memory], ROWS_OF[precision])
            x = self._source(sources[1], precision)
            value, flags = units.mau_matrix(precision, half, reduces, bank, x, addend)
            value = value._replace(origin=value.origin or origin)
        else:
            factors = sources[:-1] if has_addend else sources
            taints = [self._source(operand, precision) for operand in factors]
            value, flags = units.mau_vector(precision, half, reduces, taints, addend)
        self._deliver("mau", expression, value, flags)

    def _bank(self, bank: str, rows: int) -> tuple[Nibbles, Origin | None]:
        known = self.shadow.banks[bank]
        nibbles, origin = known or (np.zeros((geometry().blocks, 16, geometry().pes), np.uint8), None)
        missing = [row for row in range(rows) if not self.engine.context.banks[bank][row]]
        if missing:
            nibbles = nibbles.copy()
            nibbles[:, missing] = FULL
            origin = origin or (self.engine.line, f"row {missing[0]} of $l{bank}")
        return nibbles, origin

    def _matrix_write(self, expression: Expression) -> None:
        precision, target = expression.opcode[0], expression.destinations[0]
        value = self._source(expression.sources[0], precision)
        bank, count, pace = BANK[target.memory], ROWS_OF[precision], 2 if target.width == 4 else 1

        def commit() -> None:
            known = self.shadow.banks[bank]
            nibbles = np.zeros((geometry().blocks, 16, geometry().pes), np.uint8) if known is None else known[0].copy()
            for cycle in range(CYCLES):
                row = (target.address + pace * cycle) % count
                nibbles[:, row] = value.msb[:, cycle]
                if pace == 2:
                    nibbles[:, row + 1] = value.lsb[:, cycle]
            self.shadow.banks[bank] = (nibbles, value.origin or (known and known[1])) if nibbles.any() else None

        self.commits.append(commit)

    def _matrix_read(self, expression: Expression) -> None:
        precision, source = expression.opcode[0], expression.sources[0]
        bank, origin = self._bank(BANK[source.memory], ROWS_OF[precision])
        value = units.matrix_read(precision, bank, source.address)
        self._deliver("mread", expression, value._replace(origin=origin), None)

    # ---- L1BM ----

    def _l1bm(self, expression: Expression) -> None:
        source = expression.sources[0]
        is_shifted = expression.opcode == "l1bmd" and expression.modifier
        shift = int(expression.modifier) % geometry().mabs if is_shifted else 0
        if source.memory in (Memory.L1BM, Memory.TURNAROUND):
            port = Port(expression.opcode.removeprefix("l1bm"), source.width == 4)
            self._deliver("l1bm", expression, self._down(port, source, shift), None)
            return
        self._up(expression, shift)

    def _down(self, port: Port, source: Operand, shift: int) -> Taint:
        if source.memory is Memory.TURNAROUND:
            nothing = np.zeros((geometry().blocks, turnaround_longs()), np.uint8)
            linear, origin = self.shadow.turnaround or (nothing, None)
            return units.l1bm_down(port, linear, 0, shift)._replace(origin=origin)
        count = CYCLES * port.pace * (2 if port.family == "p" and port.two_long else 1)
        linear = self.shadow.sync(Memory.L1BM, ring(source.address, count, geometry().l1bm_longs))
        value = units.l1bm_down(port, linear, 0, shift)
        if value.is_clean:
            return value
        first = source.address + int(np.argmax(linear.any(axis=0)))
        return value._replace(origin=self.shadow.origin_of_upper(Memory.L1BM, first, self.engine.line))

    def _up(self, expression: Expression, shift: int) -> None:
        opcode, target, source = expression.opcode, expression.destinations[0], expression.sources[0]
        family = {"": "m", "4": "m4"}.get(split_reduction(opcode, "l1bmr").fan, "") if "l1bmr" in opcode else opcode[4:]
        port = Port(family, target.width == 4)
        value = self._value(source)
        is_half_sum = opcode.startswith("l1bmr") and opcode.endswith("hfadd")
        if source.suffix == "e" or is_half_sum:
            value = widened(value, "hf")
        register = units.l1bm_up(port, value, expression)

        def commit() -> None:
            if not self.keeps_latches:
                self.shadow.turnaround = (register, value.origin) if register.any() else None
            if target.memory is not Memory.L1BM:
                return
            at = ring(target.address, CYCLES * port.pace, geometry().l1bm_longs)
            self.shadow.sync(Memory.L1BM, at)
            self.shadow.upper(Memory.L1BM)[:, at] = units.shifted_up(register, shift)[:, : CYCLES * port.pace]
            self.shadow.settle(Memory.L1BM, at, value.origin)

        self.commits.append(commit)
