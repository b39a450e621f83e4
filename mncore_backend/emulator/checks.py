"""Run-time checks of strict mode: memories never written, banks, latches, transfers in flight."""

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mnc.mncore_backend.assembly.records import Memory, Operand, Statement
from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.mncore_backend.emulator.geometry import CYCLES, L2BM_LONGS, L2BS
from mnc.mncore_backend.emulator.l2bm import L2bmPlan
from mnc.mncore_backend.emulator.masks import bits_of
from mnc.mncore_backend.emulator.mv import MvPlan
from mnc.mncore_backend.emulator.plan import Access, Plan

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.engine import Engine

_SAME_BANK_FORMAT = {"d": "d", "f": "f", "g": "f", "h": "h"}  # f and g are the same hardware operation (SDM 3.6.10)
_CHECKED_AT_RUN_TIME = ("latch-idle", "turnaround-empty", "turnaround-kind", "mv-unwaited", "mv-tag-reuse")


def _mask_access(entry: int, cycle: int, count: int) -> Access:
    """Cycles of one mask register."""
    return Access(Memory.MASK, (entry * CYCLES + cycle,), count, Operand(Memory.MASK, address=entry))


class Checker:
    """Checks a decoded statement before it runs and notes what it writes."""

    def __init__(self, engine: "Engine") -> None:
        self.engine: Engine = weakref.proxy(engine)  # no cycle: the memory of a machine goes with its last user
        self._checked: Sequence[Statement] | None = None

    def _fail(self, message: str, rule: str, hint: str | None = None) -> None:
        raise EmulationError(message, self.engine.line, self.engine.file_name, rule=rule, hint=hint)

    def check_program(self, statements: Sequence[Statement], file_name: str) -> None:
        """Static rules of a whole program, hazard distances included (SDM 3.6.3, 3.6.4), once when it is loaded.

        What depends on the state a program starts with (latches, turnaround register, tags) is checked while it runs.
        """
        from mnc.mncore_backend.checker import Severity, check_stream

        if statements is self._checked:
            return
        for finding in check_stream(statements):
            if finding.severity is Severity.ERROR and finding.rule not in _CHECKED_AT_RUN_TIME:
                raise EmulationError(finding.message, finding.line, file_name, rule=finding.rule, hint=finding.hint)
        self._checked = statements

    # ---- PE statements ----

    def check_step(self, plan: Plan) -> None:
        """All reads of a step, then its writes."""
        shadow = self.engine.shadow
        for access in plan.reads:
            if not access.dynamic:
                shadow.check(access)
        for entry in plan.mask_reads:
            shadow.check(_mask_access(entry, 0, CYCLES))
        for bank, precision, rows, _ in plan.bank_reads:
            self._check_bank(bank, precision, rows)
        for l2bm in plan.l2bm:
            self._l2bm(l2bm, writes=False)
        for upper in plan.upper:
            if not upper.write:
                shadow.check_upper(upper)
        self._note_writes(plan)

    def _note_writes(self, plan: Plan) -> None:
        shadow = self.engine.shadow
        for upper in plan.upper:
            if upper.write:
                shadow.check_upper(upper)
        for l2bm in plan.l2bm:
            self._l2bm(l2bm, writes=True)
        for access in plan.writes:
            if access.mask is None:
                shadow.mark(access)
            elif not shadow.is_everywhere(access):
                self._masked_write(access)
        for entry, cycles in plan.mask_writes:
            for cycle in cycles:
                shadow.mark(_mask_access(entry, cycle, 1))

    def _masked_write(self, access: Access) -> None:
        """A run-time mask over words that some PE has not written yet: look at the mask."""
        engine = self.engine
        engine.flush()
        entry, two_long = access.mask or (0, False)
        msb, lsb = bits_of(engine.state.arena.masks()[:, entry], two_long)
        high, low = np.uint64(0xFFFFFFFF00000000), np.uint64(0xFFFFFFFF)
        for cycle, first in enumerate(access.words):
            for word in range(access.width):
                part = (msb if word < 2 else lsb)[:, cycle]
                let_through = (part & (low if word & 1 else high)) != 0
                engine.shadow.mark_words(access.memory, range(first + word, first + word + 1), let_through)

    def _check_bank(self, bank: str, precision: str, rows: tuple[int, ...]) -> None:
        for row in rows:
            written = self.engine.context.banks[bank][row]
            if not written:
                self._fail(f"row {row} of $l{bank} is used but was never written", "uninitialised-read")
            if _SAME_BANK_FORMAT[written] != _SAME_BANK_FORMAT[precision]:
                self._fail(
                    f"row {row} of $l{bank} was written with {written}mwrite and is used with precision {precision}",
                    "matrix-precision",
                )

    # ---- transfers ----

    def _l2bm(self, plan: L2bmPlan, writes: bool) -> None:
        shadow = self.engine.shadow
        if plan.l2bm is not None and plan.l2bm[2] == writes:
            first, count, _ = plan.l2bm
            if first + count > L2BM_LONGS:
                self._fail(f"the transfer wraps around at the end of L2BM ({first} + {count})", "wrap-around")
            for instance in range(L2BS):
                self._in_flight(Memory.L2BM, instance, first, count, writes)
                shadow.upper_run(Memory.L2BM, instance, first, count, writes)
        for members, first, count, is_write in plan.l1bm:
            if is_write == writes:
                shadow.l1bm_set(members, first, count, is_write)

    def _in_flight(self, memory: Memory, instance: int, first: int, count: int, write: bool) -> None:
        if not self.engine.timeline.in_flight:
            return
        transfer = self.engine.timeline.conflict(memory, instance, first, count, write)
        if transfer is not None:
            verb = "written" if write else "read"
            tag = "has no tag" if transfer.tag is None else f"tag i{transfer.tag:02x}"
            self._fail(
                f"{memory.name} {instance} is {verb} at {first} while the transfer of line {transfer.line} ({tag}) "
                "may still be running",
                "unwaited-transfer",
                "wait for its tag before using the memory",
            )

    def check_transfer(self, plan: MvPlan) -> None:
        """Runs of an MV: written before, free of transfers in flight (OPEN-38), not wrapping."""
        shadow, state = self.engine.shadow, self.engine.state
        for runs, write in ((plan.reads, False), (plan.writes, True)):
            for memory, instance, first, count in runs:
                self._in_flight(memory, instance, first, count, write)
                if memory is not Memory.DRAM:
                    shadow.upper_run(memory, instance, first, count, write)
                elif not write:
                    missing = state.dram[instance].first_unwritten(first, count)
                    if missing is not None:
                        message = f"long word {missing} of DRAM {instance} is read but was never written"
                        self._fail(message, "uninitialised-read")
        if plan.wraps:
            self._fail("the transfer wraps around at the end of a memory", "wrap-around")
