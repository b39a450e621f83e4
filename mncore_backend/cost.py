"""What a program costs and what the machine could do at best: the numbers of the report.

`cost_of` counts statements; the machine is deterministic, so steps, transfers and long words are exact. Cycles follow
the timing model of transfers (OPEN-48). The roofline is the larger of two limits: the MAU issues one operation a step,
and the DRAM of a group delivers a fixed number of long words a cycle.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from mnc.mncore_backend.assembly.accesses import Access
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Memory, RepeatedNop, Statement, Step, Transfer
from mnc.mncore_backend.isa import OPCODES, Unit
from mnc.mncore_backend.machine import (
    CLOCK_HZ,
    CYCLES_PER_STEP,
    DRAM_BYTES_PER_SECOND_PER_GROUP,
    GROUPS,
    LONG_BYTES,
    MABS,
    MATVEC_MULTIPLY_ADDS,
    VECTOR_MULTIPLY_ADDS,
)
from mnc.mncore_backend.scheduling.timeline import Timeline, timing_of

DRAM_LONGS_PER_CYCLE = DRAM_BYTES_PER_SECOND_PER_GROUP / CLOCK_HZ / LONG_BYTES
"""Long words per cycle of the DRAM of one group."""
IDLE = "(idle)"
UNNAMED = "(unnamed)"


@dataclass(slots=True)
class NodeCost:
    """Share of one node. A step that serves several nodes counts for each with an equal part; `multiply_adds` are those
    the MAUs perform, padding included."""

    node: str
    steps: float = 0.0
    mau_steps: float = 0.0
    multiply_adds: float = 0.0
    mv_transfers: int = 0
    dram_long_words: int = 0


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
    multiply_adds    of the whole chip, padding included
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
    multiply_adds: int = 0
    nodes: list[NodeCost] = field(default_factory=list)

    @property
    def dram_long_words(self) -> int:
        """Long words read from and written to DRAM."""
        return self.dram_read + self.dram_written

    @property
    def compute_limit(self) -> int:
        """Cycles that the MAU work needs if the MAU never idles."""
        return CYCLES_PER_STEP * self.mau_steps

    @property
    def dram_limit(self) -> float:
        """Cycles that the DRAM traffic needs at full rate."""
        return self.busiest_dram / DRAM_LONGS_PER_CYCLE

    @property
    def roofline(self) -> float:
        """Cycles below which no schedule of this work can get."""
        return max(self.compute_limit, self.dram_limit)

    @property
    def bound(self) -> str:
        """Which limit is the higher one: "compute" or "DRAM"."""
        return "compute" if self.compute_limit >= self.dram_limit else "DRAM"

    @property
    def utilisation(self) -> float:
        """Roofline over cycles, 0..1."""
        return self.roofline / self.cycles if self.cycles else 0.0

    @property
    def seconds(self) -> float:
        """Time at the clock of the machine."""
        return self.cycles / CLOCK_HZ

    def as_dict(self) -> dict[str, object]:
        """Plain values for the report."""
        return {
            **asdict(self),
            "dram_long_words": self.dram_long_words,
            "compute_limit_cycles": self.compute_limit,
            "dram_limit_cycles": self.dram_limit,
            "roofline_cycles": self.roofline,
            "bound": self.bound,
            "utilisation": self.utilisation,
            "seconds": self.seconds,
        }


def cost_of(statements: Sequence[Statement], locations: Sequence[Iterable[str]] | None = None) -> Cost:
    """Cost of a program; `locations[i]` are the nodes that statement i works for (see `scheduling.Schedule`).

    Raises InternalError for an MV that the machine does not have.
    """
    counter = _Counter()
    where = locations if locations is not None else [()] * len(statements)
    for statement, nodes in zip(statements, where, strict=True):
        counter.count(statement, sorted(n for n in nodes if n))
    return counter.finish()


class _Counter:
    def __init__(self) -> None:
        self.cost = Cost()
        self.timeline = Timeline()
        self.nodes: dict[str, NodeCost] = {}
        self.dram = [0] * GROUPS
        self._running: dict[int, int] = {}  # tag -> completion time

    def node(self, name: str) -> NodeCost:
        return self.nodes.setdefault(name, NodeCost(name))

    def count(self, statement: Statement, nodes: list[str]) -> None:
        if isinstance(statement, Step):
            self._step(statement, nodes)
        elif isinstance(statement, RepeatedNop):
            self._idle(statement.count)
        elif isinstance(statement, Transfer) and statement.opcode != "mvnop":
            self._transfer(statement, nodes)

    def _idle(self, steps: int) -> None:
        self.cost.steps += steps
        self.cost.idle_steps += steps
        self.node(IDLE).steps += steps
        self.timeline.advance(steps)

    def _step(self, statement: Step, nodes: list[str]) -> None:
        busy = False
        for expression in statement.expressions:
            if expression.opcode == "wait" and expression.tag is not None:
                self.timeline.stall_until(self._running.pop(expression.tag, 0))
            busy = busy or expression.opcode not in ("wait", "nop")
        if not busy:
            self._idle(1)
            return
        self.cost.steps += 1
        self.timeline.advance()
        work = sum(multiply_adds(e.opcode) for e in statement.expressions)
        has_mau = any(OPCODES[e.opcode].unit is Unit.MAU for e in statement.expressions)
        self.cost.mau_steps += has_mau
        self.cost.multiply_adds += work
        share = 1 / max(1, len(nodes))
        for name in nodes or [UNNAMED]:
            node = self.node(name)
            node.steps += share
            node.mau_steps += has_mau * share
            node.multiply_adds += work * share

    def _transfer(self, statement: Transfer, nodes: list[str]) -> None:
        finish = self.timeline.issue(timing_of(statement))
        if statement.tag is not None:
            self._running[statement.tag] = finish
        self.cost.mv_transfers += 1
        moved = 0
        for access in transfer_accesses(statement):
            if access.memory is Memory.DRAM:
                moved += self._dram(access)
        for name in nodes or [UNNAMED]:
            node = self.node(name)
            node.mv_transfers += 1
            node.dram_long_words += moved

    def _dram(self, access: Access) -> int:
        longs = sum(last - first for first, last in access.cycles[0])
        groups = [g for g in range(GROUPS) if access.instances >> g & 1]
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
        cost.nodes = sorted(self.nodes.values(), key=lambda n: (-n.steps, n.node))
        return cost


def multiply_adds(opcode: str) -> int:
    """Multiply-adds that one expression performs on the whole chip in its four cycles, 0 for other units."""
    info = OPCODES[opcode]
    if info.unit is not Unit.MAU:
        return 0
    table = MATVEC_MULTIPLY_ADDS if info.operation in ("mfma", "mmul") else VECTOR_MULTIPLY_ADDS
    return table[info.precision] * MABS * CYCLES_PER_STEP
