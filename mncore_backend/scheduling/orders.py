"""Several schedules of a program, of which the best is taken."""

from mnc.mncore_backend.program import Program
from mnc.mncore_backend.scheduling.scheduler import Schedule, ScheduleOptions, schedule

SEVERAL_ORDERS = 5000
"""Programs of so many operations at most are scheduled with several orders of MVs."""


def best_schedule(program: Program) -> Schedule:
    """The schedule with the fewest cycles, then steps, of those that different orders of MVs give. Which order is best
    depends on how often memories that several MVs write run dry, which no rule foresees; larger programs get one order.

    Raises InternalError for operations that no step can take.
    """
    orders = (False, True) if len(program.operations) <= SEVERAL_ORDERS else (False,)
    found = [schedule(program, ScheduleOptions(urgent_transfers=urgent)) for urgent in orders]
    return min(found, key=lambda result: (result.cycles, result.steps))
