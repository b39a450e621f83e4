"""From hardware operations to text, and running the text. Imports nothing: its leaves are used by lower layers."""

PASSES: dict[str, str] = {
    "add-companions": "mnc.mncore_backend.codegen.add_companions:AddCompanions",
    "allocate-buffers": "mnc.mncore_backend.codegen.allocate_buffers:AllocateBuffers",
    "coalesce-copies": "mnc.mncore_backend.codegen.coalesce_copies:CoalesceCopies",
    "compile-layers": "mnc.mncore_backend.layers.compile_layers:CompileLayers",
    "load-again": "mnc.mncore_backend.codegen.load_again:LoadAgain",
    "name-transfers": "mnc.mncore_backend.codegen.name_transfers:NameTransfers",
    "order-operations": "mnc.mncore_backend.codegen.order_operations:OrderOperations",
    "pack-weights": "mnc.mncore_backend.codegen.selection.pack_weights:PackWeights",
    "plan-movements": "mnc.mncore_backend.codegen.selection.plan_movements:PlanMovements",
    "schedule": "mnc.mncore_backend.codegen.schedule:Schedule",
    "select-instructions": "mnc.mncore_backend.codegen.selection.select:SelectInstructions",
    "shortest": "mnc.mncore_backend.shortest.shortest:Shortest",
    "spill-buffers": "mnc.mncore_backend.codegen.residency.spill_buffers:SpillBuffers",
    "split-transfers": "mnc.mncore_backend.codegen.split_transfers:SplitTransfers",
    "unroll-trips": "mnc.mncore_backend.codegen.unroll_trips:UnrollTrips",
    "verify-schedule": "mnc.mncore_backend.codegen.verify_schedule:VerifySchedule",
}
"""Pass name -> import path ``package.module:ClassName``."""
