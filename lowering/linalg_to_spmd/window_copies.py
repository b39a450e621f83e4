"""Copies of what windows read, one for every place of a window: arranged by the host, or made on the chip."""

from collections.abc import Iterable
from contextlib import suppress
from math import inf

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement.compose import NoWay
from mnc.mncore_backend.movement.estimate import TooMany, UpTo, count
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.pricing import arrival
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program


def comes_arranged(source: Layout, layout: Layout, index_map: NDArray[np.int64]) -> bool:
    """Whether copies of the elements of a tensor in DRAM, for each place of `layout` that which `index_map` says, are
    loaded as the host arranges them in no more steps than it takes to bring each element once, to the places of
    `source`, and to make the copies.
    """
    spare = arrival(layout).bound - arrival(source).bound
    return spare <= 0 or _takes_more(source, layout, index_map, spare)


def cheapest_source(sources: Iterable[Layout | None], layout: Layout, index_map: NDArray[np.int64]) -> Layout:
    """The first of the layouts of a tensor from which such copies are made in the fewest steps."""
    found = list(dict.fromkeys(source for source in sources if source is not None))
    return min(found, key=lambda source: _steps(source, layout, index_map)) if len(found) > 1 else found[0]


def _steps(source: Layout, target: Layout, index_map: NDArray[np.int64]) -> float:
    """What a gather takes; infinitely many steps where there is none."""
    builder = Builder(Program())
    held, wanted = (builder.program.buffer("copies", own.local_size, LOCAL_MEMORY) for own in (source, target))
    with suppress(NoWay):
        plan_gather(builder, source, held, target, wanted, index_map)
        return count(builder.program.operations).steps
    return inf


def _takes_more(source: Layout, target: Layout, index_map: NDArray[np.int64], steps: float) -> bool:
    """Whether a gather takes more than so many steps, or there is none."""
    builder = Builder(Program(operations=UpTo(steps)))
    held, wanted = (builder.program.buffer("copies", own.local_size, LOCAL_MEMORY) for own in (source, target))
    with suppress(TooMany, NoWay):
        plan_gather(builder, source, held, target, wanted, index_map)
        return False
    return True
