"""From resolved machine operations to the statements of a program: dependences, issue rules, list scheduling."""

from mnc.mncore_backend.codegen.scheduling.options import Schedule, ScheduleOptions, TooLongError
from mnc.mncore_backend.codegen.scheduling.orders import best_schedule
from mnc.mncore_backend.codegen.scheduling.parts import scheduled_lines
from mnc.mncore_backend.codegen.scheduling.scheduler import schedule
from mnc.mncore_backend.codegen.scheduling.sequential import sequential
from mnc.mncore_backend.codegen.scheduling.transfers import TransferOrder

__all__ = [
    "Schedule",
    "ScheduleOptions",
    "TooLongError",
    "TransferOrder",
    "best_schedule",
    "schedule",
    "scheduled_lines",
    "sequential",
]
