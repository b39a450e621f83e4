"""Data movement: plans of transfer instructions between DRAM and the PEs and from layout to layout."""

from mnc.mncore_backend.movement.image import DramImage
from mnc.mncore_backend.movement.load import plan_load
from mnc.mncore_backend.movement.store import plan_store

__all__ = ["DramImage", "plan_load", "plan_store"]
