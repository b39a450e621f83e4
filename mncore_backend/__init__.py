"""From hardware operations to text, and running the text. Imports nothing: its leaves are used by lower layers."""

PASSES: dict[str, str] = {
    "allocate-buffers": "mnc.mncore_backend.allocate:AllocateBuffers",
    "plan-movements": "mnc.mncore_backend.selection.plan_movements:PlanMovements",
    "schedule": "mnc.mncore_backend.schedule:Schedule",
    "select-instructions": "mnc.mncore_backend.selection.select:SelectInstructions",
    "spill-buffers": "mnc.mncore_backend.residency.spill_buffers:SpillBuffers",
    "verify-schedule": "mnc.mncore_backend.verify:VerifySchedule",
}
"""Pass name -> import path ``package.module:ClassName``."""
