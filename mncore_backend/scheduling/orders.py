"""Several schedules of a program, of which the best is taken."""

from itertools import combinations

from mnc.mncore_backend.program import Program
from mnc.mncore_backend.scheduling.scheduler import Schedule, ScheduleOptions, schedule
from mnc.mncore_backend.scheduling.timeline import timing_of
from mnc.mncore_backend.scheduling.transfers import TransferOrder
from mnc.mncore_backend.scheduling.window import transfer_of

SEVERAL_ORDERS = 5000
"""Programs of so many operations at most are scheduled with several orders of MVs."""


def best_schedule(program: Program) -> Schedule:
    """The schedule with the fewest cycles, then steps, of those that different orders of MVs give. Which order is best
    depends on how often memories that several MVs write run dry, which no rule foresees; larger programs, and those
    whose MVs do not meet, get one order.

    Raises InternalError for operations that no step can take.
    """
    several = len(program.operations) <= SEVERAL_ORDERS and _meet(program)
    orders = TransferOrder if several else (TransferOrder.READY,)
    found = [schedule(program, ScheduleOptions(order=order)) for order in orders]
    return min(found, key=lambda result: (result.cycles, result.steps))


def _meet(program: Program) -> bool:
    """Whether two MVs use the same instance of a memory in the same direction."""
    ports = [frozenset(timing_of(transfer_of(op)).ports) for op in program.operations if op.is_transfer]
    return any(not one.isdisjoint(other) for one, other in combinations(ports, 2))
