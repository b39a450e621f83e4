"""Local memory to DRAM and back, as it is: a value that leaves the chip for a while comes back to the same places.

Both ways take the same hops, so that what one wrote is what the other reads. Replicas are stored once wherever the
instructions can make them again: of copies in all L2Bs the store takes the bitwise or, which is the copy itself.
"""

from dataclasses import dataclass

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Layout, place
from mnc.mncore_backend.movement.load import Arrival, dram_per_l2bm, emit_from_l2bm, emit_mv, spread_of
from mnc.mncore_backend.movement.paths import (
    hop_steps,
    l1bm_extent,
    l1bm_size,
    mv_groups,
    paths,
    slices,
    used_addresses,
)
from mnc.mncore_backend.movement.staging import alternating
from mnc.mncore_backend.movement.store import Departure, Spread, emit_slice
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import Buffer, Builder, upper
from mnc.mncore_backend.target import chip

_REDUCED = {"mvb": "mvrlbor", "mvb4": "mvr4lbor", "mvb2": "mvr2lbor"}
"""The store that takes copies of several L2Bs to where the load that makes the copies reads."""


@dataclass(frozen=True, slots=True)
class Spilled:
    """Where a value lies in DRAM, and the way there and back. `sizes` are the long words of one L2BM of each slice."""

    dram: Buffer
    arrival: Arrival

    @property
    def sizes(self) -> list[int]:
        return [self.arrival.l2bm_size(i) for i in range(len(self.arrival.parts))]


def plan_spill(builder: Builder, layout: Layout, source: Buffer) -> Spilled:
    """Emit the transfers that bring the share of every PE in `source` to DRAM; returns where it is."""
    arrival = _way(layout, source)
    total = sum(arrival.l2bm_size(i) for i in range(len(arrival.parts)))
    size = total * dram_per_l2bm()[arrival.spread] // chip().groups
    spilled = Spilled(builder.program.buffer("spilled", size, (Memory.DRAM,), alignment=MV_UNIT, pinned=True), arrival)
    departure = Departure(layout, source, arrival.path, arrival.parts, arrival.data, Spread((0,)), place(layout))
    groups = mv_groups(spilled.sizes)
    wide = [sum(spilled.sizes[i] for i in group) for group in groups]
    l2bm = alternating(builder, Memory.L2BM, wide, "up")
    l1bm = alternating(builder, Memory.L1BM, departure.extents, "up")
    start = 0
    for g, group in enumerate(groups):
        filled = 0
        for i in group:
            emit_slice(builder, departure, i, l1bm[i], l2bm[g], filled)
            filled += spilled.sizes[i]
        _emit_up(builder, arrival.spread, l2bm[g], spilled.dram, start, filled)
        start += filled * dram_per_l2bm()[arrival.spread] // chip().groups
    return spilled


def plan_fetch(builder: Builder, spilled: Spilled, target: Buffer) -> None:
    """Emit the transfers that bring a spilled value to `target`, a buffer of the size it had."""
    arrival = Arrival(
        spilled.arrival.layout, target, spilled.arrival.path, spilled.arrival.parts, spilled.arrival.data,
        spilled.arrival.spread,
    )  # fmt: skip
    groups = mv_groups(spilled.sizes)
    wide = [sum(spilled.sizes[i] for i in group) for group in groups]
    l2bm = alternating(builder, Memory.L2BM, wide, "down")
    l1bm = alternating(builder, Memory.L1BM, [l1bm_extent(arrival.path, part) for part in arrival.parts], "down")
    start = 0
    for g, group in enumerate(groups):
        emit_mv(builder, arrival.spread, spilled.dram, start, l2bm[g], wide[g])
        start += wide[g] * dram_per_l2bm()[arrival.spread] // chip().groups
        filled = 0
        for i in group:
            emit_from_l2bm(builder, arrival, i, l2bm[g], filled, l1bm[i])
            filled += spilled.sizes[i]


def _way(layout: Layout, buffer: Buffer) -> Arrival:
    """The cheapest way that exists in both directions."""
    addresses = used_addresses(place(layout))
    candidates = []
    for path in paths(layout, upward=True):
        parts = slices(path, addresses, two_long=buffer.alignment % 2 == 0)
        sizes = [l1bm_size(path, part) for part in parts]
        candidates.append(Arrival(layout, buffer, path, parts, sizes, spread_of(layout)))
    return min(candidates, key=lambda a: (a.l2bm_total, sum(hop_steps(a.path, part) for part in a.parts)))


def _emit_up(builder: Builder, spread: str, l2bm: Buffer, dram: Buffer, start: int, size: int) -> None:
    """The inverse of `emit_mv`."""
    if spread == "mvp":
        for half in range(chip().l2bs_per_group):
            builder.emit("mvp", [upper(l2bm, 0, l2b=half)], [upper(dram, start + half * size)], size=size)
        return
    builder.emit(_REDUCED[spread], [upper(l2bm)], [upper(dram, start)], size=size)


__all__ = ["Spilled", "plan_fetch", "plan_spill"]
