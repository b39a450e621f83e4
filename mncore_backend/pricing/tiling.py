"""Prices of tiles with halos, made of a tensor that is on the chip."""

from collections.abc import Sequence
from math import log2

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.pricing.crossing import Crossing, crossing
from mnc.mncore_backend.pricing.facts import IN_ADDRESS, LEVELS, facts
from mnc.mncore_backend.pricing.halos import halos
from mnc.mncore_backend.pricing.relayout import relayout
from mnc.mncore_backend.pricing.resources import Resources
from mnc.mncore_backend.pricing.table import price
from mnc.mncore_backend.pricing.window import Window, addresses, reached
from mnc.mncore_backend.target import CYCLES_PER_STEP

_LEVEL = {axis: number for number, axis in enumerate(LEVELS)}


def tiling(
    windows: Sequence[Window],
    extents: Sequence[int],
    digits: Sequence[tuple[Digit, ...]],
    source: Layout,
    places: Layout | None,
    tiles: Layout,
) -> Resources:
    """What it takes to make the tiles of an operand that is read through windows.

    Args:
        windows: one for each dimension of the operand.
        extents: of the iteration dimensions.
        digits: of the iteration dimensions.
        source: where the operand is.
        places: the layout of the operand that agrees with the tiles, halos aside; None if there is none.
        tiles: the layout of the tensor of tiles.
    """
    way = tile_crossing(windows, extents, digits, source, places, tiles)
    if way.is_copy:
        return Resources(alu=2.0 * -(-facts(tiles).longs // CYCLES_PER_STEP))  # by way of a register file
    found = None if places is None else halos(windows, extents, digits, places, tiles)
    if places is not None and found is not None:
        return relayout(source, places) + found
    return price("tiling", way)


def tile_crossing(
    windows: Sequence[Window],
    extents: Sequence[int],
    digits: Sequence[tuple[Digit, ...]],
    source: Layout,
    places: Layout | None,
    tiles: Layout,
) -> Crossing:
    """How the words travel, with two features more: long words of the halos, and the part of a tile that is none."""
    wanted = facts(tiles)
    if places is None:
        found = crossing(facts(source), wanted, longs=wanted.longs, crossed=0)
        return Crossing(found.level, [*found.features, log2(1 + wanted.longs), 0.0], found.is_copy)
    crossed, inside = IN_ADDRESS, 1.0
    for window, held in zip(windows, places.dims, strict=True):
        if window.out is None or (window.kernel is None and window.stride == 1 and not window.low):
            continue
        own = digits[window.out]
        covered = reached(window, extents, digits)
        axes = [_LEVEL[d.axis] for d in own if d.size > 1 and d.axis is not Axis.ADDRESS]
        step = addresses(own) * window.stride
        if axes and (window.low or covered > step or step != addresses(held)):
            crossed = min(crossed, *axes)
            inside *= min(1.0, step / (covered + window.low))
    found = crossing(facts(source), facts(places), longs=wanted.longs, crossed=crossed)
    return Crossing(found.level, [*found.features, log2(1 + wanted.longs * (1 - inside)), inside], found.is_copy)
