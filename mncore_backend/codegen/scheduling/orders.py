"""Several schedules of a program, of which the best is taken."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

from mnc.mncore_backend.codegen.scheduling.options import Schedule, ScheduleOptions, TooLongError
from mnc.mncore_backend.codegen.scheduling.reading import Reading, transfer_of
from mnc.mncore_backend.codegen.scheduling.scheduler import schedule
from mnc.mncore_backend.codegen.scheduling.timeline import timing_of
from mnc.mncore_backend.codegen.scheduling.transfers import TransferOrder
from mnc.mncore_backend.program import Program

SEVERAL = 5000
"""Programs of so many operations at most are scheduled in several ways."""
IMPROVED = 4
"""How often the best of them is improved at most."""
IMPROVABLE = 1.12
"""Factor of the cycles that are wanted at which the first schedule of several is given up. The best of several took 1 %
less than the first in the middle of 67 programs, and never more than 10.3 % less."""
CLOSE = 1.02
"""Factor of the cycles that are wanted up to which the best is improved: that took 1.1 % off at most."""

Both = Callable[[Callable[[], Any], Callable[[], Any]], tuple[Any, Any]]
"""Does two pieces of work, in two processes perhaps."""


def best_schedule(program: Program, most: int | None = None, both: Both | None = None) -> Schedule:
    """The schedule with the fewest cycles, then steps, of those that different orders of MVs and two readings of the
    priorities give, which no rule foresees; the best is improved by priorities that follow from it, as long as that
    helps. Of larger programs there are two, if `both` is given to make them; else MVs go by urgency. Where MVs do not
    meet, there is one order.

    Raises InternalError for operations that no step can take, and TooLongError for a program that has no hope of taking
    `most` cycles or fewer.
    """
    orders = TransferOrder if _meet(program) else (TransferOrder.READY,)
    if len(program.operations) > SEVERAL:
        return _of_large(program, ScheduleOptions(most=most), tuple(orders), both)
    limited = ScheduleOptions(most=None if most is None else int(IMPROVABLE * most))
    tried = [ScheduleOptions(order=order, deep=deep) for order in orders for deep in (True, False)]
    reading = Reading(program.operations)
    best, options = schedule(program, limited, reading), tried[0]
    for trial in tried[1:]:
        if (other := _better(program, trial, reading, best)) is not None:
            best, options = other, trial
    times = IMPROVED if most is None or best.cycles <= CLOSE * most else 0
    for _ in range(times):
        other = _better(program, replace(options, earlier=best.places), reading, best)
        if other is None:
            break
        best = other
    return best


def _of_large(
    program: Program, limited: ScheduleOptions, orders: tuple[TransferOrder, ...], both: Both | None
) -> Schedule:
    """The schedule of a large program: with the one order of MVs, or the better one of two."""
    urgent = replace(limited, order=orders[-1])
    if both is None or len(orders) == 1:
        return schedule(program, urgent)
    found = both(partial(_unless_too_long, program, limited), partial(_unless_too_long, program, urgent))
    made = [own for own in found if own is not None]
    if not made:
        raise TooLongError(f"the program takes more than {limited.most} cycles", hint="permit more")
    return min(made, key=lambda own: (own.cycles, own.steps))


def _unless_too_long(program: Program, options: ScheduleOptions) -> Schedule | None:
    try:
        return schedule(program, options)
    except TooLongError:
        return None


def _better(program: Program, options: ScheduleOptions, reading: Reading, best: Schedule) -> Schedule | None:
    """The schedule with these options, given up as soon as it takes more cycles than the best; None if it is not
    better."""
    try:
        found = schedule(program, replace(options, most=best.cycles), reading)
    except TooLongError:
        return None
    return found if (found.cycles, found.steps) < (best.cycles, best.steps) else None


def _meet(program: Program) -> bool:
    """Whether two MVs use the same instance of a memory in the same direction."""
    ports = [frozenset(timing_of(transfer_of(op)).ports) for op in program.operations if op.is_transfer]
    return any(not one.isdisjoint(other) for one, other in combinations(ports, 2))
