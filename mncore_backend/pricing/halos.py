"""Prices of tiles with halos, made of a tensor that lies where the tiles do: what neighbours give counts, by how far
away they are.

MABs of an L1B give by shifts. What passes L1Bs or L2Bs takes the time of the memories on its way, and is picked where
it arrives. A dimension that is cut over several axes has its next neighbours on the innermost one; only those at its
ends are further away, and words of few MABs or L1Bs are fewer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.pricing.facts import Facts, facts
from mnc.mncore_backend.pricing.hops import DISTINCT_UNIT, UNIT
from mnc.mncore_backend.pricing.resources import NOTHING, Resources
from mnc.mncore_backend.pricing.window import Window, addresses, reached
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

PICKED = 0.75
"""Steps to pick a long word by an index table: four at a time are read, put together and written, mostly from the same
addresses as the four before."""
UNLIKE, TABLED, UNEVEN = 1.7, 0.5, 250
"""How much more it takes where MABs get what others than their own hold; steps of the ports for the tables of that, per
long word, and those of tables that differ all over the chip, since some places are empty."""
EXCHANGED = 3 / 64
"""Steps of the ports of PDM for a long word that an L2B gets from others, half of them from those of its own group."""
MASKED = 3
"""Steps of a group of shifts besides those of the words: a mask, and cycles without work."""
COMING_DOWN = 8 * CYCLES_PER_STEP
"""Long words of L1BM that all MABs get in a step."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """One windowed dimension that is cut over the chip: digits of the hardware, outer ones first, and the part of a
    tile that is no halo."""

    hardware: tuple[Digit, ...]
    own: float

    def size(self, axis: Axis, inside: Axis | None = None) -> int:
        """Places along an axis, or those inside one place of another axis."""
        axes = [d.axis for d in self.hardware]
        first = 0 if inside is None else len(axes) - axes[::-1].index(inside)
        return prod(d.size for d in self.hardware[first:] if d.axis is axis)


def halos(
    windows: Sequence[Window],
    extents: Sequence[int],
    digits: Sequence[tuple[Digit, ...]],
    places: Layout,
    tiles: Layout,
) -> Resources | None:
    """The price of tiles (see `tiling`); None where they do not lie where their own part is, or PEs share a
    dimension."""
    cuts: list[_Cut] = []
    for window, held in zip(windows, places.dims, strict=True):
        hardware = () if window.out is None else tuple(d for d in digits[window.out] if _is_place(d))
        if window.out is None or not hardware or (window.kernel is None and window.stride == 1 and not window.low):
            continue
        step = addresses(digits[window.out]) * window.stride
        if step != addresses(held) or any(d.axis in (Axis.PE, Axis.W) for d in hardware):
            return None
        if (covered := max(step, reached(window, extents, digits) + max(0, window.low - step))) > step or window.low:
            cuts.append(_Cut(hardware, min(1.0, step / max(covered, step + window.low))))
    if not cuts:
        return None
    own, longs = facts(places), facts(tiles).longs
    inner = [cut for cut in cuts if cut.hardware[-1].axis is Axis.MAB]
    kept = prod(cut.own for cut in inner)
    copied, shifted = longs * prod(cut.own for cut in cuts), longs * (1 - kept)
    groups = 3 ** len(inner) - 1
    found = Resources(
        alu=2 * copied / CYCLES_PER_STEP + (MASKED - 1) * groups,
        l1bm=2 * shifted / CYCLES_PER_STEP + groups,
        latency=chip().mv_latency_steps,
    )
    for cut in cuts:
        far = longs * (1 - cut.own) * kept / (cut.own if cut in inner else 1)
        found += sum((_across(own, cut, axis, far) for axis in (Axis.L1B, Axis.L2B) if cut.size(axis) > 1), NOTHING)
    return found


def _across(own: Facts, cut: _Cut, axis: Axis, wanted: float) -> Resources:
    """What it takes to bring `wanted` long words to every PE at an end of the dimension."""
    width = chip().l1bm_families["m" if own.mabs == 1 else "d"].rate
    mabs, l1bs = cut.size(Axis.MAB, axis), cut.size(Axis.L1B, axis) if axis is Axis.L2B else 1
    given = min(wanted, own.longs)
    up, down = given * width / mabs, wanted * width / mabs  # long words of an L1B
    if mabs == 1:
        l1bm = (given + wanted) / CYCLES_PER_STEP
    else:
        l1bm = UNLIKE * (given * chip().mabs_per_l1b / mabs / CYCLES_PER_STEP + down / COMING_DOWN)
    alu, tables = PICKED * wanted, 0.0
    if mabs > 1:
        alu, tables = UNLIKE * alu, TABLED * wanted + UNEVEN * own.is_padded
    if axis is Axis.L1B:
        others = own.l1bs * (1 - 1 / cut.size(Axis.L1B))
        return Resources(alu=alu, l1bm=l1bm, l2bm=(up + down) * others / UNIT, mv=tables)
    of_l2b = down * own.l1bs / l1bs
    l2bm = (up + down) * own.l1bs / l1bs / (DISTINCT_UNIT * chip().l1bs_per_l2b if l1bs == 1 else UNIT)
    return Resources(alu=alu, l1bm=l1bm, l2bm=l2bm, mv=of_l2b * EXCHANGED + tables, latency=2 * chip().mv_latency_steps)


def _is_place(digit: Digit) -> bool:
    return digit.size > 1 and digit.axis is not Axis.ADDRESS
