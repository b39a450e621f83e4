"""Run-time checks of strict mode: what nobody wrote (poison), banks, latches, transfers in flight."""

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mnc.mncore_backend.assembly.records import Memory, Operand, Statement, Step
from mnc.mncore_backend.emulator import poison_transfers
from mnc.mncore_backend.emulator.decode_mau import BANK
from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.mncore_backend.emulator.geometry import CYCLES, geometry
from mnc.mncore_backend.emulator.l2bm import L2bmPlan
from mnc.mncore_backend.emulator.mv import MvPlan, Run
from mnc.mncore_backend.emulator.plan import Access, Facts, Plan
from mnc.mncore_backend.emulator.poison import PoisonedStep

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

    def check_step(self, plan: Plan, statement: Step) -> None:
        """Rules of a step that depend on the state, then what it leaves in the shadow: in most steps everything that is
        read is clean, and what is written becomes so."""
        facts, template, shadow = plan.facts, plan.template, self.engine.shadow
        if template is not None and template.is_bound and not shadow.has_poison_aside:
            epoch = shadow.epoch
            for binding in plan.bindings:  # a generator takes twice as long
                if binding.verified != epoch:
                    break
            else:
                if template.verified == epoch or self._are_banks_written(facts):
                    template.verified = plan.verified = epoch
                    return
        if self._are_banks_written(facts) and self._is_clean(plan, statement):
            self._note_writes(plan)
            self._remember(plan)
            return
        engine = self.engine
        engine.flush()
        PoisonedStep(engine, statement, plan.l2bm, keeps_latches=facts.noforward).run()

    def _remember(self, plan: Plan) -> None:
        """What was clean or cleaned by this step will be so until the epoch ends."""
        shadow = self.engine.shadow
        if shadow.has_poison_aside or not plan.facts.is_steady:
            return
        plan.verified = shadow.epoch
        for binding in plan.bindings:
            binding.verified = shadow.epoch

    def _are_banks_written(self, facts: Facts) -> bool:
        """Were all rows written that a step uses? Fails for another precision."""
        is_written = True
        for bank, precision, rows, _ in facts.bank_reads:
            is_written = self._check_bank(bank, precision, rows) and is_written
        return is_written

    def _is_clean(self, plan: Plan, statement: Step) -> bool:
        """Does the step meet no poison, neither in what it reads nor in what it leaves in place?"""
        shadow, facts = self.engine.shadow, plan.facts
        reads, writes, uppers = plan.accesses()
        for access in reads:
            if not (self._is_clean_dynamic(access) if access.dynamic else shadow.is_clean(access)):
                return False
        for access in writes:
            if access.mask is not None and not shadow.is_clean(access):
                return False
        for entry in facts.mask_reads:
            if not shadow.is_clean(_mask_access(entry, 0, CYCLES)):
                return False
        for upper in uppers:
            if not upper.write and not shadow.is_clean_upper(upper):
                return False
        for l2bm in plan.l2bm:
            if not self._is_clean_l2bm(l2bm):
                return False
        return not shadow.has_poison_aside or self._is_apart(statement)

    def _is_clean_dynamic(self, access: Access) -> bool:
        words = self.engine.dynamic_words(access.operand)
        return self.engine.shadow.is_clean_dynamic(access.memory, words, access.width)

    def _is_apart(self, statement: Step) -> bool:
        """Does a step leave latches, turnaround register, banks and base registers that hold poison alone?"""
        shadow = self.engine.shadow
        if shadow.latches or any(shadow.bars):
            return False
        for expression in statement.expressions:
            for operand in (*expression.sources, *expression.destinations):
                bank = BANK.get(operand.memory)
                if bank is not None and shadow.banks[bank] is not None:
                    return False
            if shadow.turnaround is not None and expression.opcode.startswith("l1bm"):
                return False
            if shadow.dar_staged is not None and expression.opcode.startswith("l2bmdar"):
                return False
        return True

    def _note_writes(self, plan: Plan) -> None:
        shadow, facts = self.engine.shadow, plan.facts
        _, writes, uppers = plan.accesses()
        for upper in uppers:
            if upper.write:
                shadow.mark_upper_access(upper)
        for l2bm in plan.l2bm:
            if l2bm.l2bm is not None and l2bm.l2bm[2]:
                first, count, _ = l2bm.l2bm
                shadow.l2bm[:, first : first + count] = True
            for members, first, count, is_write in l2bm.l1bm:
                if is_write:
                    shadow.mark_set(members, first, count)
        for access in writes:
            if access.mask is None and not access.dynamic:
                shadow.mark(access)
        for entry, cycles in facts.mask_writes:
            for cycle in cycles:
                shadow.mark(_mask_access(entry, cycle, 1))

    def _check_bank(self, bank: str, precision: str, rows: tuple[int, ...]) -> bool:
        """Were all rows written? Fails for another precision."""
        banks, wanted, is_written = self.engine.context.banks[bank], _SAME_BANK_FORMAT[precision], True
        for row in rows:
            written = banks[row]
            if not written:
                is_written = False
            elif _SAME_BANK_FORMAT[written] != wanted:
                self._fail(
                    f"row {row} of $l{bank} was written with {written}mwrite and is used with precision {precision}",
                    "matrix-precision",
                )
        return is_written

    # ---- transfers ----

    def check_in_flight(self, plan: Plan) -> None:
        """The transfers of a step against those in flight, which differ from execution to execution."""
        for l2bm in plan.l2bm:
            self._in_flight_l2bm(l2bm)

    def _in_flight_l2bm(self, plan: L2bmPlan) -> None:
        if plan.l2bm is None:
            return
        first, count, write = plan.l2bm
        if first + count > geometry().l2bm_longs:
            self._fail(f"the transfer wraps around at the end of L2BM ({first} + {count})", "wrap-around")
        if not self.engine.timeline.may_conflict(Memory.L2BM, first, count, write):
            return
        for instance in range(geometry().l2bs):
            self._in_flight(Memory.L2BM, instance, first, count, write)

    def _is_clean_l2bm(self, plan: L2bmPlan) -> bool:
        shadow = self.engine.shadow
        if plan.l2bm is not None and not plan.l2bm[2]:
            first, count, _ = plan.l2bm
            if not shadow.l2bm[:, first : first + count].all():
                return False
        return all(is_write or shadow.is_clean_set(m, first, count) for m, first, count, is_write in plan.l1bm)

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

    def check_transfer(self, plan: MvPlan) -> Callable[[], None] | None:
        """Runs of an MV: no long words of transfers in flight (OPEN-38), not wrapping. Returns what moves the poison
        behind the values, None if there is none."""
        shadow, state = self.engine.shadow, self.engine.state
        for runs, write in ((plan.reads, False), (plan.writes, True)):
            for memory, instance, first, count in runs:
                self._in_flight(memory, instance, first, count, write)
        if plan.wraps:
            self._fail("the transfer wraps around at the end of a memory", "wrap-around")
        if shadow.dar is not None:
            poison_transfers.check_dar(shadow, plan)
        if all(self._is_clean_run(run) for run in plan.reads):
            for memory, instance, first, count in plan.writes:
                if memory is not Memory.DRAM:
                    shadow.mark_run(memory, instance, first, count)
            return None
        return lambda: poison_transfers.move(shadow, state, plan)

    def _is_clean_run(self, run: Run) -> bool:
        memory, instance, first, count = run
        if memory is Memory.DRAM:
            return self.engine.state.dram[instance].first_unwritten(first, count) is None
        return self.engine.shadow.is_clean_run(memory, instance, first, count)
