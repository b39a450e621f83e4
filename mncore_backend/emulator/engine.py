"""Execution of statements in program order: decode, check, run, update the static state."""

from array import array
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import (
    DebugGet,
    DebugSet,
    DramPreset,
    MaskSetting,
    Operand,
    Quit,
    RepeatedNop,
    Statement,
    Step,
    Transfer,
)
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.arena import CYCLES, Rows, row_bytes
from mnc.mncore_backend.emulator.checks import Checker
from mnc.mncore_backend.emulator.constants import Constants
from mnc.mncore_backend.emulator.context import UNITS, Context, Transition
from mnc.mncore_backend.emulator.debug import get_lines, preset, set_memory
from mnc.mncore_backend.emulator.errors import EmulationError, block_text
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.indirect import dynamic_words
from mnc.mncore_backend.emulator.known_steps import KnownSteps
from mnc.mncore_backend.emulator.masks import resolve_entry
from mnc.mncore_backend.emulator.mv import MvPlan
from mnc.mncore_backend.emulator.plan import Facts, Plan
from mnc.mncore_backend.emulator.shadow import Shadow
from mnc.mncore_backend.emulator.shown import check_shown
from mnc.mncore_backend.emulator.state import State
from mnc.mncore_backend.emulator.statistics import Statistics
from mnc.mncore_backend.emulator.table_runner import TableRunner
from mnc.mncore_backend.emulator.timeline import Timeline


class Engine:
    """The machine in motion. Kernel calls are deferred and run in long segments; everything that needs their results
    calls `flush` first."""

    def __init__(self, mode: str, threads: int | None = None) -> None:
        if mode not in ("strict", "vendor"):
            raise ValueError(f"mode is 'strict' or 'vendor', not '{mode}'")
        self.strict = mode == "strict"
        self.state = State()
        self.constants = Constants()
        self.steps = KnownSteps(self.state.arena, self.constants, self.strict)
        self.context = Context()
        self.shadow = Shadow(self.strict)
        self.timeline = Timeline()
        self.statistics = Statistics()
        self.runner = TableRunner(threads)
        self.checker = Checker(self)
        self.file_name = "<program>"
        self.line = 0
        self.stopped = False
        self.output: Callable[[str], None] = lambda text: None
        self._decode_tables: dict[tuple[str, str], tuple[array[int], NDArray[np.int64]]] = {}
        self._checked_lines: list[int] = []  # of the block-float checks since the last flush
        self._checks_done = 0
        self._current = self._addresses_of = object()  # the statement in execution, and that of the addresses
        self._addresses: dict[int, NDArray[np.int64]] = {}
        self._fault = self.state.arena.region("fault")[:, 0]

    # ---- statements ----

    def execute(self, statement: Statement) -> None:
        """Execute one statement. Raises EmulationError; the state is then that before the statement."""
        self.line = self.shadow.line = statement.line
        self._current = object()
        try:
            if isinstance(statement, Step):
                self._step(statement)
            elif isinstance(statement, RepeatedNop):
                self._nops(statement.count)
            elif isinstance(statement, Transfer):
                self._transfer(statement)
            elif isinstance(statement, MaskSetting):
                setting = (statement.entry, statement.two_long)
                is_open = resolve_entry(*setting).is_open
                self.context.set_masks({} if is_open else dict.fromkeys(statement.kinds, setting))
            elif isinstance(statement, Quit):
                self.stopped = True
            elif isinstance(statement, DebugGet):
                self.flush()
                if self.strict:
                    check_shown(self, statement.operand, statement.count)
                for line in get_lines(self.state, statement):
                    self.output(line)
            elif isinstance(statement, DebugSet):
                self.flush()
                set_memory(self.state, self.shadow, statement)
            elif isinstance(statement, DramPreset):
                preset(self.state, statement)
        except EmulationError:
            self._settle()
            raise
        except ValueError as error:
            self._settle()
            rule = getattr(error, "rule", "illegal-statement")
            raise EmulationError(str(error), self.line, self.file_name, rule=rule) from error

    def _settle(self) -> None:
        """Bring the state up to the statement before a failing one."""
        self.runner.flush()

    # ---- PE statements ----

    def _step(self, statement: Step) -> None:
        plan, transition = self.steps.find(statement, self.context)
        facts = plan.facts
        if facts.wait_tag is not None:
            self.timeline.wait(facts.wait_tag)
        if self.strict:
            if plan.l2bm and (self.timeline.in_flight or plan.verified != self.shadow.epoch):
                self.checker.check_in_flight(plan)
            if plan.verified != self.shadow.epoch:
                self.checker.check_step(plan, statement)
        if facts.bank_reads:
            self._prepare_banks(facts)
        if facts.acts:
            self._act(plan)
        else:
            self.runner.add_plan(plan)
        if facts.checks_block_float:
            self._checked_lines.append(statement.line)
        self._commit(facts, transition)

    def _act(self, plan: Plan) -> None:
        """A step with work of the host before or after its kernels."""
        facts = plan.facts
        by_host = () if facts.copies_l2bm else plan.l2bm
        if facts.before or by_host:
            self.flush()
            for action in facts.before:
                action(self)
        if facts.copies_l2bm:
            self.runner.claim(plan.l2bm[0])
            self._count_l2bm(plan.l2bm[0])
        fetched = [(l2bm, l2bm.read(self.state)) for l2bm in by_host]
        self.runner.add_plan(plan)
        if facts.after or fetched:
            self.flush()
            for action in facts.after:
                action(self)
            for l2bm, values in fetched:
                l2bm.write(self.state, values)
                self._count_l2bm(l2bm)

    def _commit(self, facts: Facts, transition: Transition) -> None:
        """Update the static state after a step."""
        if not self.steps.follow(transition, self.context):
            self._change_context(facts, transition)
        if facts.bank_writes:
            self._note_banks(facts)
        self.statistics.steps += 1
        self.timeline.now += 1
        units = self.statistics.units
        for unit in facts.units or ("nop",):
            units[unit] += 1

    def _change_context(self, facts: Facts, transition: Transition) -> None:
        context = self.context
        if not facts.noforward:
            latches = {unit: facts.results.get(unit) for unit in UNITS}
            # An idle unit falls back to one canonical buffer, so that repeated code finds its plans again.
            buffers = {unit: 1 if latches[unit] is None else 1 - context.buffers[unit] for unit in UNITS}
            context.latches, context.buffers = latches, buffers
            if facts.turnaround is not None:
                context.turnaround = facts.turnaround
        if not facts.after:  # what the host does may change base registers
            transition.following = self.steps.recognise(context)
        else:
            context.situation = None

    def _note_banks(self, facts: Facts) -> None:
        context = self.context
        for bank, precision, rows in facts.bank_writes:
            context.decoded[bank] = ""
            known = context.banks[bank]
            for row in rows:
                if known[row] != precision:
                    known[row] = precision
                    self.shadow.epoch += 1

    def _nops(self, count: int) -> None:
        self.statistics.steps += count
        self.statistics.units["nop"] += count
        self.timeline.advance(count)

    def _prepare_banks(self, facts: Facts) -> None:
        """Decode a bank before its first product after a write."""
        for bank, precision, _, decodes in facts.bank_reads:
            if decodes and self.context.decoded[bank] != precision:
                self.runner.add(self._decode_table(bank, precision), self)
                self.context.decoded[bank] = precision

    def _decode_table(self, bank: str, precision: str) -> "array[int]":
        key = (bank, precision)
        if key not in self._decode_tables:
            kernel = kernels.matrix_decode(precision)
            rows = {
                name: [self.state.arena.row_address(region, row) for row in range(CYCLES)]
                for name, region in (("bank", bank), ("decoded", f"decoded_{bank}"))
            }
            stride = self.state.arena.rows.strides[0]
            record = kernel.record(**{name: (addresses, stride) for name, addresses in rows.items()})
            table = array("q", (kernel.address, record.ctypes.data))
            self._decode_tables[key] = (table, record)
        return self._decode_tables[key][0]

    def dynamic_words(self, operand: Operand) -> NDArray[np.int64]:
        """Data-dependent addresses of an operand in the current step, found once."""
        if self._addresses_of is not self._current:
            self._addresses_of, self._addresses = self._current, {}
        key = id(operand)
        if key not in self._addresses:
            self.flush()
            self._addresses[key] = dynamic_words(self, operand)
        return self._addresses[key]

    def base_register_changed(self, index: int) -> None:
        """Note after a write whether all PEs agree on a base register."""
        values = self.state.base_registers()[:, index]
        first = int(values[0, 0])
        self.context.bars[index] = first if (values == first).all() else None
        self.context.situation = None

    def reset_static_state(self, banks: dict[str, list[str]]) -> None:
        """After the contents of memory were replaced: idle latches, nothing in flight, everything counts as written.
        `banks` is the precision that each row of a matrix bank was written with."""
        self.context = Context(masks=self.context.masks, banks={bank: list(rows) for bank, rows in banks.items()})
        self.timeline.forget_transfers()
        for index in range(2):
            self.base_register_changed(index)
        self.shadow.mark_everything()

    def gather(self, rows: Rows) -> NDArray[np.uint64]:
        """Copy of the contents of rows, [block, cycle, PE]."""
        out = np.empty((geometry().blocks, CYCLES, geometry().pes), np.uint64)
        arena = self.state.arena
        for cycle in range(CYCLES):
            if rows[4] == arena.rows.strides[0]:
                out[:, cycle] = arena.rows[:, (rows[cycle] - arena.base) // row_bytes()]
            else:
                out[:, cycle] = self.constants.at(rows[cycle], rows[4])
        return out

    # ---- MV transfers ----

    def _transfer(self, statement: Transfer) -> None:
        self.statistics.mv_lines += 1
        if statement.opcode == "mvnop":
            self.timeline.take_slot()
            return
        plan = MvPlan(self.state, statement)
        if statement.tag in self.timeline.tags:
            message = f"tag i{statement.tag:02x} is asserted again before a wait for it"
            raise EmulationError(message, self.line, self.file_name, rule="tag-reused")
        move_poison = self.checker.check_transfer(plan) if self.strict else None
        if self.runner.uses(plan):
            self.flush()
        plan.execute(self.state)
        if move_poison is not None:
            move_poison()
        self.timeline.issue(plan, statement.tag, statement.line)
        self.statistics.units["mv"] += 1
        for runs, direction in ((plan.reads, "read"), (plan.writes, "written")):
            for memory, _, _, count in runs:
                self.statistics.longs[f"{memory.name} {direction} by MV"] += count

    def _count_l2bm(self, plan) -> None:
        if plan.l2bm is not None:
            direction = "written" if plan.l2bm[2] else "read"
            self.statistics.longs[f"L2BM {direction} by L2BM transfers"] += plan.l2bm[1] * geometry().l2bs
        for members, _, count, is_write in plan.l1bm:
            direction = "written" if is_write else "read"
            self.statistics.longs[f"L1BM {direction} by L2BM transfers"] += count * len(members) * geometry().l2bs

    # ---- segments ----

    def flush(self) -> None:
        """Run deferred kernel calls. Raises EmulationError when a run-time check of the segment failed."""
        self.runner.flush()
        if self._checked_lines:
            lines, self._checked_lines = self._checked_lines, []
            first, self._checks_done = self._checks_done, self._checks_done + len(lines)
            if self._fault[:, 1].any():
                self._raise_fault(lines, first)

    def _raise_fault(self, lines: list[int], first: int) -> None:
        faulty = np.flatnonzero(self._fault[:, 1])
        block = int(faulty[np.argmin(self._fault[faulty, 0])])
        count, position = int(self._fault[block, 0]), int(self._fault[block, 1]) - 1
        self._fault[:, :2] = 0
        vectors = geometry().pes // 8  # of eight long words in a row
        message = f"the elements of a block-float vector have different exponents in cycle {position // vectors}"
        where = block_text(block, 8 * (position % vectors))
        hint = "convert it with bfn first; the state is that after the segment the statement ran in"
        line = lines[count - 1 - first]
        raise EmulationError(message, line, self.file_name, where, "block-float-exponents", hint)
