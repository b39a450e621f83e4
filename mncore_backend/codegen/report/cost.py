"""What a program costs and what the machine could do at best: the numbers of the report.

`cost_of` counts statements; the machine is deterministic, so steps, transfers and long words are exact. Cycles follow
the timing model of transfers (OPEN-48). There are two measures of them. `Ideal` is of the model: its multiply-adds at
the peak of the matrix units, and its inputs, weights and outputs once over the DRAM ports. The limit of a `Cost` is of
the program: what it does to padding and copies counts as well, so it says how well the work is scheduled, not whether
it is worth doing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.assembly.accesses import Access
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Memory, RepeatedNop, Statement, Step, Transfer
from mnc.mncore_backend.codegen.report.attribution import Moving, NodeCost, Shares
from mnc.mncore_backend.codegen.scheduling.timeline import Timeline, timing_of
from mnc.mncore_backend.target import CYCLES_PER_STEP, MATVEC_MULTIPLY_ADDS, VECTOR_MULTIPLY_ADDS, chip


@dataclass(slots=True)
class Cost:
    """Cost of a program.

    steps            PE statements, ``nop/<N>`` counted N times
    idle_steps       steps that hold nothing but nop and wait
    mv_transfers     MV statements that move data
    cycles           4 per step plus stalls, until the last transfer has finished
    dram_read, dram_written   long words, all groups together
    busiest_dram     long words read or written by the group that moves most
    mau_steps        steps in which the MAU calculates
    padded_multiply_adds   what the MAUs of the whole chip perform
    """

    steps: int = 0
    idle_steps: int = 0
    mv_transfers: int = 0
    cycles: int = 0
    stall_cycles: int = 0
    dram_read: int = 0
    dram_written: int = 0
    busiest_dram: int = 0
    mau_steps: int = 0
    padded_multiply_adds: int = 0
    nodes: list[NodeCost] = field(default_factory=list)

    @property
    def dram_long_words(self) -> int:
        """Long words read from and written to DRAM."""
        return self.dram_read + self.dram_written

    @property
    def compute_limit(self) -> int:
        """Cycles that the MAU work of the program needs if the MAU never idles."""
        return CYCLES_PER_STEP * self.mau_steps

    @property
    def dram_limit(self) -> float:
        """Cycles that the DRAM traffic of the program needs at the full rate of a group's port."""
        return self.busiest_dram / chip().dram_port_longs_per_cycle

    @property
    def seconds(self) -> float:
        """Time at the clock of the machine."""
        return self.cycles / chip().clock_hz

    def as_dict(self) -> dict[str, object]:
        """Plain values for the report."""
        return {
            **asdict(self),
            "dram_long_words": self.dram_long_words,
            "program_compute_cycles": self.compute_limit,
            "program_dram_cycles": self.dram_limit,
            "seconds": self.seconds,
        }


def cost_of(statements: Sequence[Statement], locations: Sequence[Iterable[str]] | None = None) -> Cost:
    """Cost of a program; `locations[i]` are the nodes that statement i works for (see `scheduling.Schedule`). Cycles of
    the nodes (`attribution`) add up to those of the program.

    Raises InternalError for an MV that the machine does not have.
    """
    counter = _Counter()
    where = locations if locations is not None else [()] * len(statements)
    for line, (statement, nodes) in enumerate(zip(statements, where, strict=True), 1):
        counter.count(line, statement, sorted(n for n in nodes if n))
    return counter.finish()


class _Counter:
    def __init__(self) -> None:
        self.cost = Cost()
        self.timeline = Timeline()
        self.shares = Shares()
        self.dram = [0] * chip().groups
        self._running: dict[int, Moving] = {}  # by tag
        self._last: Moving | None = None  # the one that finishes last

    def count(self, line: int, statement: Statement, nodes: list[str]) -> None:
        if isinstance(statement, Step):
            self._step(statement, nodes)
        elif isinstance(statement, RepeatedNop):
            self._idle(statement.count)
        elif isinstance(statement, Transfer):
            self._transfer(line, statement, nodes)

    def _idle(self, steps: int) -> None:
        self.cost.steps += steps
        self.cost.idle_steps += steps
        self.shares.idle(steps)
        self.timeline.advance(steps)

    def _stall_until(self, moving: Moving | None) -> None:
        if moving is not None:
            before = self.timeline.stalled
            self.timeline.stall_until(moving.finish)
            self.shares.stall(self.timeline.stalled - before, moving)

    def _step(self, statement: Step, nodes: list[str]) -> None:
        busy = False
        for expression in statement.expressions:
            if expression.opcode == "wait" and expression.tag is not None:
                self._stall_until(self._running.pop(expression.tag, None))
            busy = busy or expression.opcode not in ("wait", "nop")
        if not busy:
            self._idle(1)
            return
        self.cost.steps += 1
        self.timeline.advance()
        work = sum(multiply_adds(e.opcode) for e in statement.expressions)
        has_mau = any(OPCODES[e.opcode].unit is Unit.MAU for e in statement.expressions)
        self.cost.mau_steps += has_mau
        self.cost.padded_multiply_adds += work
        self.shares.work(nodes, has_mau, work)

    def _transfer(self, line: int, statement: Transfer, nodes: list[str]) -> None:
        before = self.timeline.stalled
        if statement.opcode == "mvnop":
            self.timeline.take_slot()
            self.shares.idle(self.timeline.stalled - before)
            return
        moving = Moving(self.timeline.issue(timing_of(statement)), line, print_statement(statement), nodes)
        self.shares.stall(self.timeline.stalled - before, moving)
        if statement.tag is not None:
            self._running[statement.tag] = moving
        if self._last is None or moving.finish > self._last.finish:
            self._last = moving
        self.cost.mv_transfers += 1
        accesses = [access for access in transfer_accesses(statement) if access.memory is Memory.DRAM]
        self.shares.transfer(nodes, sum(self._dram(access) for access in accesses))

    def _dram(self, access: Access) -> int:
        longs = sum(last - first for first, last in access.cycles[0])
        groups = [g for g in range(chip().groups) if access.instances >> g & 1]
        for group in groups:
            self.dram[group] += longs
        total = longs * len(groups)
        if access.write:
            self.cost.dram_written += total
        else:
            self.cost.dram_read += total
        return total

    def finish(self) -> Cost:
        cost = self.cost
        cost.cycles = self.timeline.cycles
        cost.stall_cycles = CYCLES_PER_STEP * self.timeline.stalled
        cost.busiest_dram = max(self.dram)
        if self._last is not None:
            self.shares.stall(max(0, self._last.finish - self.timeline.now), self._last)
        cost.nodes = self.shares.finish()
        return cost


def multiply_adds(opcode: str) -> int:
    """Multiply-adds that one expression performs on the whole chip in its four cycles, 0 for other units."""
    info = OPCODES[opcode]
    if info.unit is not Unit.MAU:
        return 0
    table = MATVEC_MULTIPLY_ADDS if info.operation in ("mfma", "mmul") else VECTOR_MULTIPLY_ADDS
    return table[info.precision] * chip().mabs * CYCLES_PER_STEP
