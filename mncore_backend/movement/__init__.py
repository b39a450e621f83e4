"""Data movement: plans of transfer instructions between DRAM and the PEs and from layout to layout."""

from mnc.mncore_backend.movement.batch import plan_loads
from mnc.mncore_backend.movement.estimate import Cost, crosses, estimate
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.movement.load import plan_load
from mnc.mncore_backend.movement.pick import Plan
from mnc.mncore_backend.movement.reduce import plan_reduce
from mnc.mncore_backend.movement.reduce_scatter import plan_reduce_scatter
from mnc.mncore_backend.movement.relayout import plan_relayout
from mnc.mncore_backend.movement.store import plan_store, plan_stores
from mnc.mncore_backend.program.dram_image import DramImage

__all__ = [
    "Cost",
    "DramImage",
    "Plan",
    "crosses",
    "estimate",
    "plan_gather",
    "plan_load",
    "plan_loads",
    "plan_reduce",
    "plan_reduce_scatter",
    "plan_relayout",
    "plan_store",
    "plan_stores",
]
