"""From hardware operations to text, and running the text. Imports nothing: its leaves are used by lower layers."""

PASSES: dict[str, str] = {
    "add-companions": "mnc.mncore_backend.codegen.add_companions:AddCompanions",
    "allocate-buffers": "mnc.mncore_backend.codegen.allocate_buffers:AllocateBuffers",
    "compile-layers": "mnc.mncore_backend.layers.compile_layers:CompileLayers",
    "plan-movements": "mnc.mncore_backend.codegen.selection.plan_movements:PlanMovements",
    "schedule": "mnc.mncore_backend.codegen.schedule:Schedule",
    "select-instructions": "mnc.mncore_backend.codegen.selection.select:SelectInstructions",
    "shortest": "mnc.mncore_backend.shortest.shortest:Shortest",
    "spill-buffers": "mnc.mncore_backend.codegen.residency.spill_buffers:SpillBuffers",
    "verify-schedule": "mnc.mncore_backend.codegen.verify_schedule:VerifySchedule",
}
"""Pass name -> import path ``package.module:ClassName``."""
