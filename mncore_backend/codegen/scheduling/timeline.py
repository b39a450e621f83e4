"""How long MV transfers take and when issue stalls (OPEN-48): the model behind priorities and reported cycles.

A transfer starts when the ports it uses are free, its data phase occupies them, and it is finished MV_LATENCY_STEPS
after the end of its data phase; unless MV_LATENCY_OVERLAPS, the ports stay busy until then. Times are steps.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.mv_accesses import mv_form, transfer_accesses
from mnc.mncore_backend.assembly.records import Memory, Transfer
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

Port = tuple[Memory, int, bool | None]
"""Memory, instance and whether it is written: what a data phase occupies. None where both share one port."""


@dataclass(frozen=True, slots=True, eq=False)
class TransferTiming:
    """Length of the data phase in steps, and the ports it occupies. MVs that agree in both share it."""

    data_steps: int
    ports: tuple[Port, ...]

    @property
    def duration(self) -> int:
        """Steps from issue to completion if all ports are free."""
        return self.data_steps + chip().mv_latency_steps


def timing_of(transfer: Transfer) -> TransferTiming:
    """Timing of an MV. Raises InternalError if no form of the machine has these operands."""
    form = mv_form(transfer)
    source, destination = transfer.source, transfer.destination
    if form is None or source is None or destination is None:
        raise InternalError(f"{transfer.opcode} has no form with these operands: {source} to {destination}")
    if transfer.size <= 0 or transfer.size % form.unit:
        raise InternalError(f"{transfer.opcode} of {transfer.size} long words: not a multiple of {form.unit}")
    same = source.group is None or destination.group is None or source.group == destination.group
    cycles = form.data_cycles(transfer.size, same_group=same)
    ports = [
        (access.memory, instance, None if access.memory in chip().one_port else access.write)
        for access in transfer_accesses(transfer)
        for instance in range(access.instances.bit_length())
        if access.memory is not Memory.DAR and access.instances >> instance & 1
    ]
    return _shared(-(-cycles // CYCLES_PER_STEP), tuple(ports))


@lru_cache(1 << 12)
def _shared(data_steps: int, ports: tuple[Port, ...]) -> TransferTiming:
    return TransferTiming(data_steps, ports)


@dataclass(slots=True)
class Timeline:
    """Clock of a program whose statements are given in order. `finish` of a tag is dropped by its wait."""

    now: int = 0
    stalled: int = 0
    last_finish: int = 0
    _last_issue: int = field(default_factory=lambda: -chip().mv_issue_interval_steps)
    _ports: dict[Port, int] = field(default_factory=dict)
    _free: dict[TransferTiming, int] = field(default_factory=dict)  # when all ports are, as far as it was asked for

    def advance(self, steps: int = 1) -> None:
        """PE statements are issued."""
        self.now += steps

    def stall_until(self, time: int) -> None:
        """Issue stops until `time`."""
        if time > self.now:
            self.stalled += time - self.now
            self.now = time

    def take_slot(self) -> None:
        """Issue stops until the MV before is far enough away."""
        self.stall_until(self._last_issue + chip().mv_issue_interval_steps)
        self._last_issue = self.now

    def issue(self, timing: TransferTiming) -> int:
        """Issue an MV now; its completion time."""
        self.take_slot()
        end = self.start(timing) + timing.data_steps
        finish = end + chip().mv_latency_steps
        self._ports.update(dict.fromkeys(timing.ports, end if chip().mv_latency_overlaps else finish))
        self._free.clear()
        self.last_finish = max(self.last_finish, finish)
        return finish

    def start(self, timing: TransferTiming) -> int:
        """When the data phase of an MV begins that is issued now."""
        free = self._free.get(timing)
        if free is None:
            free = self._free[timing] = max([0, *(self._ports.get(port, 0) for port in timing.ports)])
        return max(self.now, free)

    @property
    def may_issue(self) -> bool:
        """An MV can be issued now without a stall."""
        return self.now >= self._last_issue + chip().mv_issue_interval_steps

    @property
    def cycles(self) -> int:
        """Cycles until the last statement was issued and the last transfer finished."""
        return CYCLES_PER_STEP * max(self.now, self.last_finish)
