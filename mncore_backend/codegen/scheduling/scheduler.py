"""List scheduling of machine operations into steps.

Steps are filled one after the other. Among the operations whose predecessors are far enough behind, the most urgent
(longest path to the end of the window) goes first; whatever the rules of parallel issue allow joins it. Chains tied by
latches are placed as a whole, reserving the steps after. MVs are issued as soon as their operands allow, and whoever
needs their result carries the wait; other work is preferred while a transfer is on its way, and issue stalls only when
there is none left.
"""

from dataclasses import dataclass, field
from heapq import heappop
from typing import NoReturn

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.accesses import Agent
from mnc.mncore_backend.assembly.records import Expression, Memory
from mnc.mncore_backend.codegen.scheduling.forwarding import forwarded
from mnc.mncore_backend.codegen.scheduling.graph import Bundle, Node
from mnc.mncore_backend.codegen.scheduling.needs import AGENT_BIT, Needs, reach
from mnc.mncore_backend.codegen.scheduling.options import Schedule, ScheduleOptions, TooLongError
from mnc.mncore_backend.codegen.scheduling.reading import Reading, Stream
from mnc.mncore_backend.codegen.scheduling.ready import ReadyQueues
from mnc.mncore_backend.codegen.scheduling.statements import StatementWriter
from mnc.mncore_backend.codegen.scheduling.steps import StepRecord, StepTable, side_by_side
from mnc.mncore_backend.codegen.scheduling.timeline import Port, Timeline, TransferTiming
from mnc.mncore_backend.codegen.scheduling.transfers import TransferOrder, Transfers
from mnc.mncore_backend.codegen.scheduling.window import Window
from mnc.mncore_backend.program import Program
from mnc.mncore_backend.target import chip

KEPT_IN_MIND = 2
"""How many urgent bundles that do not fit yet hold back less urgent ones."""
MARGIN = 16
"""Steps by which those must be less urgent: holding back what is nearly as urgent gains nothing."""
LOOKED_AT = 32
"""How many MVs that are ready are looked at per step."""
FAR = 1 << 60
DEFAULT = ScheduleOptions()
TRIES = 12
"""How many bundles of one unit are looked at per step before the unit stays idle."""


def schedule(
    program: Program, options: ScheduleOptions = DEFAULT, reading: Reading | None = None
) -> Schedule:
    """Statements that compute what the operations of `program` compute when executed one after the other. `reading` is
    the program read before, for who schedules it several times.

    Every buffer must have an address. Raises InternalError for operations that no step can take, and TooLongError as
    soon as more cycles are taken than there may be.
    """
    return _ListScheduler(program, options, reading).run()


Replaced = tuple[list[tuple[Node, Expression, Needs]], list[Needs]]
"""What nodes of a bundle read, and what its rows needed, before latches took the place of memories."""


@dataclass(slots=True)
class _ListScheduler:
    program: Program
    options: ScheduleOptions
    reading: Reading | None = None
    taken: dict[Bundle, Replaced] = field(default_factory=dict)  # what chances replaced
    chances: dict[int, list[Bundle]] = field(default_factory=dict)  # step -> what latches would make ready for it
    window: Window = field(init=False)
    table: StepTable = field(init=False)
    queues: ReadyQueues = field(init=False)
    timeline: Timeline = field(init=False)
    transfers: Transfers = field(init=False)
    writer: StatementWriter = field(init=False)
    places: dict[int, int] = field(default_factory=dict)
    reach: int = field(default_factory=reach)
    step: int = 0
    quiet: tuple[int, int] = (-1, 0)  # no MV is issued before this time if the ready ones have changed so often
    clear_for: int = 0  # the priority of an MV that only transfers L1BM->L2BM keep from being issued

    def __post_init__(self) -> None:
        options = self.options
        operations = self.program.operations
        source = Stream(operations) if self.reading is None else self.reading.again()
        self.window = Window(source, len(operations), options.window, deep=options.deep, earlier=options.earlier)
        self.table = StepTable()
        self.timeline = Timeline()
        self.transfers = Transfers(self.timeline)
        self.queues = ReadyQueues(self.transfers.arrival, by_urgency=self.options.order is TransferOrder.URGENT)
        self.writer = StatementWriter()

    def run(self) -> Schedule:
        """Place everything."""
        while self._is_unfinished():
            self._extend()
            self._fill_step()
            if self._is_unfinished() or self.table[self.step].wait is not None:
                self._finish_step()
        while self.options.wait_at_end and self.transfers.finish:
            index = self.transfers.first_to_finish()
            assert index is not None
            self.transfers.wait(index, self.table[self.step])
            self._finish_step()
        self.writer.transfers_at_end(self.table[self.step])
        statements, locations = self.writer.result()
        return Schedule(statements, locations, self.step, self.timeline.cycles, self.places)

    def _is_unfinished(self) -> bool:
        """Something is left to be placed, or stands in the current step or later."""
        return not self._all_placed or not self.table.is_empty_from(self.step)

    @property
    def _all_placed(self) -> bool:
        return not self.window.unplaced and self.window.exhausted

    def _extend(self) -> None:
        if self.window.wants_more():
            for bundle in self.window.extend():
                self._make_ready(bundle)
            self.queues.renew()

    def _make_ready(self, bundle: Bundle) -> None:
        self.queues.add(bundle, self.step, self.timeline.now)
        if self.options.forwarding and not bundle.is_transfer:
            sooner = bundle.sooner
            if self.step <= sooner < bundle.earliest and not self.transfers.owed(bundle):
                if sooner > self.step:
                    self.chances.setdefault(sooner, []).append(bundle)
                else:
                    self._take_chance(bundle)

    def _take_chance(self, bundle: Bundle) -> None:
        """Let a bundle compete for the current step with its operands taken from latches."""
        before = []
        for node in bundle.nodes:
            step = self.step + bundle.offsets[node.row]
            if node.earliest > step:
                latches = tuple([(memory, latch) for made, memory, latch in node.forwards if made.step == step - 1])
                assert node.expression is not None and node.needs is not None
                before.append((node, node.expression, node.needs))
                node.expression, node.needs = forwarded(node.expression, latches)
        self.taken[bundle] = (before, bundle.needs)
        bundle.needs = bundle.needs_of_rows()
        self.queues.push_forwarded(bundle)

    def _end_chances(self) -> None:
        """Bundles that found no place in this step read their memories again."""
        for bundle, (before, needs) in self.taken.items():
            if not bundle.placed:
                for node, expression, own in before:
                    node.expression, node.needs = expression, own
                bundle.needs = needs
        self.taken.clear()
        self.queues.forwarded.clear()

    def _finish_step(self) -> None:
        """Write the current step out and go on to the next."""
        record = self.table[self.step]
        self.transfers.retire(record, is_last=self.options.wait_at_end and self._all_placed)
        self.writer.write(self.table.finish_first())
        self.step += 1
        self.timeline.advance()
        if self.options.most is not None and self.timeline.cycles > self.options.most:
            raise TooLongError(f"the program takes more than {self.options.most} cycles", hint="permit more")

    # ---- one step ----

    def _fill_step(self) -> None:
        record = self.table[self.step]
        self.queues.advance(self.step, self.timeline.now)
        for bundle in self.chances.pop(self.step, ()):
            self._take_chance(bundle)
        self.clear_for = 0
        self._issue_transfers(record)
        while not record.hold:
            self._place_operations(record)
            if record.nodes or not self._react_to_idleness(record):
                break
            self.queues.advance(self.step, self.timeline.now)
        self._end_chances()

    def _place_operations(self, record: StepRecord) -> None:
        """Place the most urgent operations that fit into the current step."""
        deferred: list[Bundle] = []
        kept_out = self._soon_due()
        tries: dict[int, int] = {}
        closed = record.needs.units
        while (heap := self.queues.most_urgent(closed)) is not None:
            bundle = heappop(heap)[2]
            if not self._delays(bundle, kept_out) and self._try(bundle, record):
                closed |= record.needs.units
                continue
            deferred.append(bundle)
            self._keep_in_mind(bundle, kept_out)
            units = bundle.needs[0].units
            unit = units & -units
            tries[unit] = tries.get(unit, 0) + 1
            if tries[unit] >= TRIES:
                closed |= unit
        for bundle in deferred:
            if bundle in self.taken:
                self.queues.push_forwarded(bundle)
            else:
                self.queues.push(bundle)

    def _soon_due(self) -> list[tuple[Bundle, int]]:
        """The most urgent transfers inside the chip that will be ready within the reach of the port rules."""
        due = [b for b in self.queues.due_before(self.step + self.reach) if b.needs and b.needs[0].agents > 1]
        due.sort(key=lambda b: -b.priority)
        return [(b, b.earliest - self.step) for b in due[:KEPT_IN_MIND] if self.table.fits(b, b.earliest)]

    def _keep_in_mind(self, bundle: Bundle, kept_out: list[tuple[Bundle, int]]) -> None:
        """Note an urgent bundle that a step soon will take, unless operations of the same kind keep it out again: an
        L1BM->PE transfer never comes to its turn behind a stream of PE->L1BM transfers."""
        if len(kept_out) < 2 * KEPT_IN_MIND and bundle not in self.taken:
            distance = next((d for d in range(1, self.reach) if self.table.fits(bundle, self.step + d)), None)
            if distance is not None:
                kept_out.append((bundle, distance))

    @staticmethod
    def _delays(bundle: Bundle, kept_out: list[tuple[Bundle, int]]) -> bool:
        """Whether a more urgent bundle would have to wait longer if this one were placed now."""
        return bool(kept_out) and any(
            other.priority > bundle.priority + MARGIN and not side_by_side(bundle, other, distance)
            for other, distance in kept_out
        )

    def _try(self, bundle: Bundle, record: StepRecord) -> bool:
        """Place a bundle at the current step if it fits and the waits it owes can be carried."""
        if not self.table.fits(bundle, self.step):
            return False
        if bundle.priority < self.clear_for and bundle.needs[0].agents & AGENT_BIT[Agent.L2BM_UP]:
            return False  # the MV goes with the next step
        owed = self.transfers.owed(bundle)
        if owed:
            if record.wait is not None:
                return False
            self.transfers.wait(owed[0], record)
            if len(owed) > 1:
                return False  # one wait per step (summary 7.2): the others go with the next steps
        self.table.place(bundle, self.step)
        self._release(bundle)
        return True

    def _release(self, bundle: Bundle) -> None:
        """Tell the successors of a placed bundle."""
        self.window.unplaced -= 1
        self.places[bundle.index] = self.step
        bundle.placed = True
        for node in bundle.nodes:
            for other, distance, sooner in node.successors:
                target = other.bundle
                if node.transfer is None:
                    other.earliest = max(other.earliest, node.step + distance)
                    other.sooner = max(other.sooner, node.step + sooner)
                else:
                    target.transfers.append(node)
                target.pending -= 1
                if target.pending == 0:
                    self._make_ready(target)
            node.successors = []
        bundle.retire()

    # ---- MVs ----

    def _issue_transfers(self, record: StepRecord, *, until: int | None = None) -> bool:
        """Issue the first MV whose data phase can begin soon, or before `until` (issue then stalls for its interval).
        True if one was issued. Who could go but for its memories keeps them free for itself: others go before it only
        if they are done in time."""
        if until is None and self.quiet[0] == self.queues.changes and self.timeline.now < self.quiet[1]:
            return False
        ahead = 2 * chip().mv_issue_interval_steps  # sooner gains nothing, and holds up who is more urgent
        latest = self.timeline.now + ahead if until is None else until
        quiet = FAR if self.options.order is TransferOrder.READY else 0
        reserved: dict[Port, int] = {}
        known: set[TransferTiming] = set()  # of those whose ports are reserved
        for _, _, bundle in self.queues.transfers[:LOOKED_AT] if self._may_issue(record, until) else ():
            node = bundle.rows[0][0]
            assert node.timing is not None
            if self._yields(bundle):
                continue
            start = self.transfers.start(bundle)
            end = start + node.timing.data_steps
            if start > latest or (reserved and any(end > reserved.get(port, end) for port in node.timing.ports)):
                for port in () if node.timing in known else node.timing.ports:
                    reserved[port] = min(start, reserved.get(port, start))
                known.add(node.timing)
                quiet = min(quiet, start - ahead if start > latest else start)
                continue
            if self._far_from_upward(node):
                return self._issue(bundle, record)
            self.clear_for, quiet = max(self.clear_for, bundle.priority), 0
        if known and until is None:
            self.quiet = self.queues.changes, quiet
        return False

    def _issue(self, bundle: Bundle, record: StepRecord) -> bool:
        """Issue an MV, or say first that what it has to follow is finished."""
        owed = self.transfers.owed(bundle)
        if owed:
            if record.wait is None:
                self.transfers.wait(owed[0], record)
            return False
        self.queues.remove_transfer(bundle)
        node = bundle.rows[0][0]
        self.transfers.issue(node, record)
        node.step = self.step
        self._release(bundle)
        return True

    def _yields(self, bundle: Bundle) -> bool:
        """Whether an MV lets another one go first that is not ready yet."""
        if self.options.order is not TransferOrder.URGENT:
            return False
        return any(self.transfers.should_wait(bundle, other) for other in self.queues.stalled_moves.values())

    def _may_issue(self, record: StepRecord, until: int | None) -> bool:
        """An MV may stand before the current step. Behind a wait of this step there is no place for one any more."""
        ready = bool(self.queues.transfers) and record.waited is None and self.transfers.tag_available
        return ready and (until is not None or self.timeline.may_issue)

    def _far_from_upward(self, node: Node) -> bool:
        """An MV that reads L2BM keeps one step from any L1BM->L2BM transfer (row 1 of the hazard table)."""
        assert node.transfer is not None and node.transfer.source is not None
        if node.transfer.source.memory is not Memory.L2BM:
            return True
        return not self.table.agents_before(self.step) & AGENT_BIT[Agent.L2BM_UP]

    # ---- nothing to do ----

    def _react_to_idleness(self, record: StepRecord) -> bool:
        """The step is empty so far. True if something was done that may let an operation into it; False to leave it."""
        soon = self._idle_steps()
        arrival, _, bundle = self.queues.stalled[0] if self.queues.stalled else (FAR, 0, None)
        stalls = bundle is not None and record.wait is None and (soon is None or arrival - self.timeline.now <= soon)
        if (stalls or soon is None) and self._issue_transfers(record, until=arrival):
            return True
        if stalls and bundle is not None and record.wait is None:
            self.transfers.wait(self.transfers.owed(bundle)[0], record)
            return True
        if soon is None and record.wait is None and self._starved():
            index = self.transfers.first_to_finish()
            if index is None:
                self._report_deadlock()
            self.transfers.wait(index, record)
        return False

    def _starved(self) -> bool:
        """Operations remain, none of them can ever be placed without waiting for something."""
        if self.queues.transfers and self.transfers.tag_available:
            return False  # an MV may go with one of the next steps
        return bool(self.window.unplaced) and self.table.is_empty_from(self.step)

    def _idle_steps(self) -> int | None:
        """Steps until some operation may become possible without a stall, None if there is none."""
        if any(self.queues.units.values()):
            return 1
        return self.queues.later[0][0] - self.step if self.queues.later else None

    def _report_deadlock(self) -> NoReturn:
        waiting = next(b for b in self.window.bundles if not b.placed)
        names = ", ".join(node.name for node in waiting.nodes)
        raise InternalError(
            f"no order of steps exists for {names}: operations between the members of a chain depend on both sides"
        )
