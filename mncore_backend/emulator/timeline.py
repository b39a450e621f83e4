"""Deterministic time: steps of the PE stream, start and finish of MV transfers, stalls at waits (OPEN-48)."""

from dataclasses import dataclass, field

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.mv import MvPlan, Run
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

Port = tuple[Memory, int, bool | None]
"""(memory, instance, is a write): what a data phase occupies. None for a memory with one port for both (OPEN-38)."""


def _ports_of(runs: list[Run], *, write: bool) -> set[Port]:
    shared = chip().one_port
    return {(memory, instance, None if memory in shared else write) for memory, instance, _, _ in runs}


@dataclass(slots=True)
class InFlight:
    """An MV transfer whose completion the program has not waited for."""

    tag: int | None
    line: int
    finish: int
    reads: list[Run]
    writes: list[Run]
    ports: set[Port]
    spans: dict[tuple[Memory, bool], tuple[int, int]] = field(init=False)
    """First long word, and the one behind the last, of what is read or written of a memory, whatever the instance."""

    def __post_init__(self) -> None:
        self.spans = {}
        for runs, write in ((self.reads, False), (self.writes, True)):
            for memory, _, first, count in runs:
                low, high = self.spans.get((memory, write), (first, first))
                self.spans[memory, write] = min(low, first), max(high, first + count)

    def may_meet(self, memory: Memory, first: int, count: int, write: bool) -> bool:
        """False if no run can meet the given one."""
        for kind in (True, False) if write else (True,):
            span = self.spans.get((memory, kind))
            if span is not None and span[0] < first + count and first < span[1]:
                return True
        return False

    def shares_path(self, other: "InFlight") -> bool:
        """Whether both move between the same kinds of memory and use an instance of one of them in common: such
        transfers finish in program order (SDM 3.5.7, OPEN-38)."""
        kinds = [{(memory, write) for memory, _, write in one.ports} for one in (self, other)]
        return kinds[0] == kinds[1] and not self.ports.isdisjoint(other.ports)


@dataclass(slots=True)
class Timeline:
    """Time in steps. A transfer starts when the ports it uses are free, its data phase occupies them, and it is
    finished `mv_latency_steps` after the end of its data phase; latencies of successive transfers overlap."""

    now: int = 0
    stalled: int = 0
    last_mv_issue: int = field(default_factory=lambda: -chip().mv_issue_interval_steps)
    last_finish: int = 0
    ports: dict[Port, int] = field(default_factory=dict)
    in_flight: list[InFlight] = field(default_factory=list)
    tags: set[int] = field(default_factory=set)
    """Tags that nobody has waited for, also of transfers that have finished with a later one of their path."""

    def forget_transfers(self) -> None:
        """All transfers have finished, and nobody waits for them."""
        self.in_flight.clear()
        self.tags.clear()

    def advance(self, steps: int) -> None:
        """`steps` PE statements were issued."""
        self.now += steps

    def stall_until(self, time: int) -> None:
        """Issue stops until `time`."""
        if time > self.now:
            self.stalled += time - self.now
            self.now = time

    def take_slot(self) -> None:
        """An MV is issued as soon as the one before it is far enough away."""
        self.stall_until(self.last_mv_issue + chip().mv_issue_interval_steps)
        self.last_mv_issue = self.now

    def issue(self, plan: MvPlan, tag: int | None, line: int) -> InFlight:
        """Start a transfer at the current time."""
        self.take_slot()
        ports = _ports_of(plan.reads, write=False) | _ports_of(plan.writes, write=True)
        start = max([self.now, *(self.ports.get(port, 0) for port in ports)])
        end = start + -(-plan.data_cycles // CYCLES_PER_STEP)
        finish = end + chip().mv_latency_steps
        self.ports.update(dict.fromkeys(ports, end if chip().mv_latency_overlaps else finish))
        transfer = InFlight(tag, line, finish, plan.reads, plan.writes, ports)
        self.last_finish = max(self.last_finish, transfer.finish)
        self.in_flight.append(transfer)
        if tag is not None:
            self.tags.add(tag)
        return transfer

    def wait(self, tag: int) -> None:
        """Stall until the transfer with this tag is finished; a tag never asserted does not stall (OPEN-39). Earlier
        transfers of its path are finished then, too, and those of theirs (OPEN-38)."""
        self.tags.discard(tag)
        transfer = next((one for one in self.in_flight if one.tag == tag), None)
        if transfer is None:
            return
        self.stall_until(transfer.finish)
        done = [transfer]
        for other in reversed(self.in_flight[: self.in_flight.index(transfer)]):
            if any(other.shares_path(later) for later in done):
                done.append(other)
        self.in_flight = [other for other in self.in_flight if all(other is not one for one in done)]

    def conflict(self, memory: Memory, instance: int, first: int, count: int, write: bool) -> InFlight | None:
        """The transfer in flight that writes the run, or (for a write) reads it."""
        for transfer in self.in_flight:
            if not transfer.may_meet(memory, first, count, write):
                continue
            for run in (*transfer.writes, *(transfer.reads if write else ())):
                if run[0] is memory and run[1] == instance and run[2] < first + count and first < run[2] + run[3]:
                    return transfer
        return None

    def may_conflict(self, memory: Memory, first: int, count: int, write: bool) -> bool:
        """False if no transfer is in flight that `conflict` could find in any instance."""
        end = first + count
        for transfer in self.in_flight:
            for (kind, is_write), (low, high) in transfer.spans.items():
                if low < end and first < high and kind is memory and (write or is_write):
                    return True
        return False

    @property
    def cycles(self) -> int:
        """Cycles until the last statement was issued and the last transfer finished."""
        return CYCLES_PER_STEP * max(self.now, self.last_finish)
