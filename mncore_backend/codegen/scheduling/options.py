"""What a schedule may be made like, and what it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.records import Statement
from mnc.mncore_backend.codegen.scheduling.transfers import TransferOrder

WINDOW = 2000


@dataclass(frozen=True, slots=True)
class Schedule:
    """Statements of a program; `locations[i]` are the locations of the operations that statement i works for. `steps`
    and `cycles` are what the timeline predicts; `places` the steps of operations (of a chain, of its first)."""

    statements: list[Statement]
    locations: list[frozenset[str]]
    steps: int
    cycles: int
    places: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    """Parameters of `schedule`.

    window          how many operations compete for a step
    wait_at_end     the program ends only when its last transfer has finished
    forwarding      operands may be taken from latches where that makes an operation ready earlier
    order           of MVs
    deep            of what may come equally late, the longest way from the start counts as the latest
    earlier         places of an earlier schedule, which this one is to improve
    most            cycles that the schedule may take; None: any number
    """

    window: int = WINDOW
    wait_at_end: bool = True
    forwarding: bool = True
    order: TransferOrder = TransferOrder.READY
    deep: bool = True
    earlier: Mapping[int, int] | None = None
    most: int | None = None


class TooLongError(CompileError):
    """A schedule takes more cycles than it may."""
