"""From one layout to another on the chip."""

import numpy as np

from mnc.mncore_backend.layout import Layout, equivalent
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.movement.pick import Plan
from mnc.mncore_backend.program import Buffer, Builder


def plan_relayout(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    target_layout: Layout,
    target: Buffer,
    *,
    padding: int = 0,
) -> Plan:
    """Emit what turns `source` under `source_layout` into `target` under `target_layout` (same tensor), never through
    DRAM. Words that pad the target take the 32-bit pattern `padding`. The plan may hold index tables, as of `plan_gather`."""
    if source_layout.shape != target_layout.shape:
        raise ValueError(f"relayout of {source_layout.shape} into {target_layout.shape}")
    if source is target and equivalent(source_layout, target_layout):
        return Plan()
    index_map = np.arange(source_layout.size)
    return plan_gather(builder, source_layout, source, target_layout, target, index_map, padding=padding)
