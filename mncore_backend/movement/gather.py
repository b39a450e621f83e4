"""Any static index map between two layouts: slices, padding, concatenation, strided windows, static gathers, and every
relayout that has no cheaper way."""

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Layout, place
from mnc.mncore_backend.movement.local import fill
from mnc.mncore_backend.movement.paths import used_addresses
from mnc.mncore_backend.movement.pick import Picker, Plan
from mnc.mncore_backend.movement.scope import analyse
from mnc.mncore_backend.movement.universe import RESERVED, SCRATCH, crossing, portions
from mnc.mncore_backend.program import Buffer, Builder


def plan_gather(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    target_layout: Layout,
    target: Buffer,
    index_map: NDArray[np.integer],
    *,
    padding: int = 0,
) -> Plan:
    """target.flat[i] = source.flat[index_map.flat[i]], or the 32-bit pattern `padding` where the map is negative.

    Words that pad the target layout get the pattern too. The index tables of the plan are DRAM images with
    the constant arrays that the host must pack into them. Raises ValueError when the map does not fit the layouts.
    """
    flat = np.asarray(index_map).reshape(-1)
    if flat.size != target_layout.size or flat.max(initial=-1) >= source_layout.size:
        raise ValueError(f"index map of {flat.size} entries does not fit {source_layout} -> {target_layout}")
    need = analyse(source_layout, target_layout, flat.astype(np.int64))
    longs = used_addresses(place(target_layout))
    way = crossing(source_layout, need)
    scratch = builder.temporary(SCRATCH + RESERVED, (Memory.LM0,), "scratch")
    fill(builder, scratch, [0], 0)
    fill(builder, scratch, [1], padding)
    picker = Picker(builder, scratch, target)
    padded = ~need.wanted
    for portion in portions(builder, way, source, need, scratch):
        picker.portion(portion.index, padded, longs)
    fill(builder, target, [a for a in longs if a not in picker.touched], padding)
    return Plan(picker.constants)

