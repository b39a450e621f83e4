"""Copies of what windows read, one for every place of a window: arranged by the host, or made on the chip."""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from math import inf

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement.compose import NoWay
from mnc.mncore_backend.movement.estimate import TooMany, UpTo, count
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.movement.within import PricesWithin
from mnc.mncore_backend.pricing import arrival
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program


def copied_from(sources: Iterable[Layout], layout: Layout, index_map: NDArray[np.int64]) -> Layout | None:
    """The layout to which a tensor in DRAM is brought for copies of its elements to be made from, for each place of
    `layout` that which `index_map` says: of `sources` the one with which that takes least. None where the copies take
    no longer to come from DRAM as the host arranges them."""
    best, least = None, arrival(layout).bound
    for source in dict.fromkeys(sources):
        most = least - arrival(source).bound
        if most > 0 and (steps := _within(source, layout, index_map, most)) <= most:
            best, least = source, arrival(source).bound + steps
    return best


_KNOWN = PricesWithin()
"""Programs of one model with other layouts ask for the same copies."""


def _within(source: Layout, target: Layout, index_map: NDArray[np.int64], most: float) -> float:
    """`_steps`, remembered for the same limit: with another one the gather may be planned in another way."""
    key = source, target, hashlib.blake2b(index_map.tobytes()).digest(), most
    return _KNOWN.steps(key, most, lambda: _steps(source, target, index_map, most))


def _steps(source: Layout, target: Layout, index_map: NDArray[np.int64], most: float) -> float:
    """What a gather takes; infinitely many steps where there is none, or where it takes more than `most`."""
    operations = UpTo(most)
    builder = Builder(Program(operations=operations))
    held, wanted = (builder.program.buffer("copies", own.local_size, LOCAL_MEMORY) for own in (source, target))
    with suppress(TooMany, NoWay):
        plan_gather(builder, source, held, target, wanted, index_map)
        return count(operations).steps
    return inf
