"""Copies of what windows read, one for every place of a window: arranged by the host, or made on the chip."""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from mnc.lowering.linalg_to_spmd.placed import default_layout
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement.compose import NoWay
from mnc.mncore_backend.movement.estimate import TooMany, UpTo
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.pricing import arrival
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program


def comes_arranged(shape: tuple[int, ...], layout: Layout, index_map: NDArray[np.int64]) -> bool:
    """Whether copies of the elements of a tensor in DRAM, for each place of `layout` that which `index_map` says, are
    loaded as the host arranges them in no more steps than it takes to bring each element once and to make the copies.
    """
    source = default_layout(shape)
    spare = arrival(layout).bound - arrival(source).bound
    return spare <= 0 or _takes_more(source, layout, index_map, spare)


def _takes_more(source: Layout, target: Layout, index_map: NDArray[np.int64], steps: float) -> bool:
    """Whether a gather takes more than so many steps, or there is none."""
    builder = Builder(Program(operations=UpTo(steps)))
    held, wanted = (builder.program.buffer("copies", own.local_size, LOCAL_MEMORY) for own in (source, target))
    with suppress(TooMany, NoWay):
        plan_gather(builder, source, held, target, wanted, index_map)
        return False
    return True
