"""The two inner hops between L2BM and the PEs, as loads and stores choose them: long words and steps of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from mnc.mncore_backend.pricing.facts import REMEMBERED, Facts
from mnc.mncore_backend.target import CYCLES_PER_STEP, MABS_PER_QUAD, PES_PER_MAB, cached_per_machine, chip
from mnc.mncore_backend.target.transfers import L2BM_PORT_LONGS, L2BM_SHARE_LONGS

UNIT, DISTINCT_UNIT = CYCLES_PER_STEP * L2BM_PORT_LONGS, CYCLES_PER_STEP * L2BM_SHARE_LONGS
"""Long words of an L1BM that an L2BM instruction moves: the same to several, or to each its own."""


@dataclass(frozen=True, slots=True)
class Hops:
    """Long words of one L2BM; steps between L2BM and L1BM, and between L1BM and the PEs."""

    longs: int
    l2bm: int
    l1bm: int


def _families(free_mab: int, free_pe: int, *, upward: bool) -> Iterator[tuple[int, int]]:
    """Long words of L1BM per address of a PE, and addresses per step, of the transfers that the replicas admit."""
    rates, once, twice = chip().l1bm_families, CYCLES_PER_STEP, 2 * CYCLES_PER_STEP
    quad = MABS_PER_QUAD - 1
    yield rates["d"].rate, once
    if free_mab & quad == quad:
        yield rates["m4"].rate, twice
    if free_mab == chip().mabs_per_l1b - 1:
        yield rates["m"].rate, twice
        if free_pe == PES_PER_MAB - 1 and not upward:
            yield rates["p"].rate, twice


def cheapest(own: Facts, *, upward: bool = False, distinct: bool = True) -> Hops:
    """The hops with the fewest long words of L2BM, then with the fewest steps. `distinct`: L1Bs may be kept apart."""
    return _cheapest(own.longs, own.free_l1b, own.free_mab, own.free_pe, upward, distinct)


@cached_per_machine(REMEMBERED)
def _cheapest(longs: int, free_l1b: int, free_mab: int, free_pe: int, upward: bool, distinct: bool) -> Hops:
    l1bs = chip().l1bs_per_l2b
    sets = l1bs >> free_l1b.bit_count()
    found = []
    for width, at_once in _families(free_mab, free_pe, upward=upward):
        size, steps = longs * width, -(-longs // at_once)
        if distinct:
            blocks = -(-size // DISTINCT_UNIT)
            found.append((blocks * DISTINCT_UNIT * l1bs, blocks, steps))
        blocks = -(-size // UNIT)
        found.append((blocks * UNIT * sets, blocks * sets, steps))
    return Hops(*min(found, key=lambda own: (own[0], own[1] + own[2])))
