"""Forwarding latches and the turnaround register: valid when read? (SDM 3.6.1.15, 3.6.8.2)"""

from typing import NamedTuple

from mnc.mncore_backend.assembly.accesses import Agent, accesses, moves_down, produced_latch
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.modifiers import mab_shift
from mnc.mncore_backend.assembly.records import LATCHES, Expression, Memory
from mnc.mncore_backend.checker.findings import Report
from mnc.mncore_backend.target import chip

_UNITS = {
    Memory.ALUF: "ALU operation",
    Memory.MAUF: "MAU calculation",
    Memory.MREADF: "transposed read",
    Memory.LBF: "L1BM->PE transfer",
}


class Turnaround(NamedTuple):
    """The last PE->L1BM transfer."""

    family: str
    width: int
    shift: int
    line: int


class LatchTracker:
    """What the latches and the turnaround register hold before the next step."""

    def __init__(self) -> None:
        self._produced: frozenset[Memory] = frozenset()
        self._line = 0
        self._turnaround: Turnaround | None = None

    def step(self, expressions: tuple[Expression, ...], line: int) -> list[Report]:
        """Reports about the reads of a step; then its results, unless it keeps the latches (nop, noforward)."""
        found: list[Report] = []
        kept = False
        produced: list[Memory] = []
        written: Turnaround | None = None
        for index, expression in enumerate(expressions):
            unit = OPCODES[expression.opcode].unit
            if unit in (Unit.NOP, Unit.NOFORWARD):
                kept = True
                continue
            if unit is Unit.WAIT:
                continue
            latch = produced_latch(expression)
            if latch is not None:
                produced.append(latch)
            found += self._latches(expression, index)
            if unit is Unit.L1BM:
                if moves_down(expression):
                    found += self._turnaround_read(expression, index)
                else:
                    written = turnaround_written(expression, line)
        if not kept:
            self._produced, self._line = frozenset(produced), line
            self._turnaround = written or self._turnaround
        return found

    def holds(self, latches: frozenset[Memory]) -> bool:
        """Do all these latches hold a result?"""
        return latches <= self._produced

    def replace(self, produced: frozenset[Memory], written: Turnaround | None, line: int) -> None:
        """Note the results of a step that does not keep the latches."""
        self._produced, self._line = produced, line
        if written is not None:
            self._turnaround = written._replace(line=line)

    def _latches(self, expression: Expression, index: int) -> list[Report]:
        found: list[Report] = []
        for operand in expression.sources:
            memory = operand.memory
            if memory in LATCHES and memory not in self._produced:
                if self._line:
                    message = f"${memory.value} is read, but line {self._line} has no {_UNITS[memory]}"
                else:
                    message = f"${memory.value} is read before any {_UNITS[memory]}"
                hint = (
                    "a latch holds the result of the last step that is not nop or noforward; add noforward to keep it"
                )
                found.append(Report("latch-idle", message, hint, index, self._line))
        return found

    def _turnaround_read(self, expression: Expression, index: int) -> list[Report]:
        source = expression.sources[0]
        if source.memory is not Memory.TURNAROUND:
            return []
        held = self._turnaround
        if held is None:
            hint = "issue a PE->L1BM transfer of the same kind in an earlier step"
            return [Report("turnaround-empty", "the turnaround register was never written", hint, index)]
        family = OPCODES[expression.opcode].family
        if (family, source.width) != (held.family, held.width):
            message = f"{expression.opcode} reads what another kind of transfer left in the turnaround register"
            return [Report("turnaround-kind", message, "use the transfer with the same rates", index, held.line)]
        if family == "d" and (mab_shift(expression.modifier) - held.shift) % chip().mabs_per_l1b:
            message = f"shift {expression.modifier or '+0'} differs from the shift of line {held.line}, {held.shift:+d}"
            return [Report("turnaround-shift", message, "use the same shift on both sides", index, held.line)]
        return []


def turnaround_written(expression: Expression, line: int) -> Turnaround:
    access = next(a for a in accesses(expression) if a.memory is Memory.TURNAROUND and a.agent is Agent.L1BM_UP)
    family, width = str(access.region[0]), access.region[1]
    shift = mab_shift(expression.modifier) if family == "d" else 0
    return Turnaround(family, 4 if width == 4 else 2, shift, line)
