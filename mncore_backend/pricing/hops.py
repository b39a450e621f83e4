"""The two inner hops between L2BM and the PEs, as loads and stores choose them: long words and steps of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from mnc.mncore_backend.pricing.facts import Facts

UNIT, DISTINCT_UNIT = 64, 32
"""Long words of an L1BM that an L2BM instruction moves: the same to several, or to each its own."""


@dataclass(frozen=True, slots=True)
class Hops:
    """Long words of one L2BM; steps between L2BM and L1BM, and between L1BM and the PEs."""

    longs: int
    l2bm: int
    l1bm: int


def _families(own: Facts, *, upward: bool) -> Iterator[tuple[int, int]]:
    """Long words of L1BM per address of a PE, and addresses per step, of the transfers that the replicas admit."""
    yield 64, 4
    if own.free_mab & 3 == 3:
        yield 16, 8
    if own.free_mab == 15:
        yield 4, 8
        if own.free_pe == 3 and not upward:
            yield 1, 8


def cheapest(own: Facts, *, upward: bool = False, distinct: bool = True) -> Hops:
    """The hops with the fewest long words of L2BM, then with the fewest steps. `distinct`: L1Bs may be kept apart."""
    sets = 1 << 3 - own.free_l1b.bit_count()
    found = []
    for width, at_once in _families(own, upward=upward):
        size, steps = own.longs * width, -(-own.longs // at_once)
        if distinct:
            blocks = -(-size // DISTINCT_UNIT)
            found.append((blocks * DISTINCT_UNIT * 8, blocks, steps))
        blocks = -(-size // UNIT)
        found.append((blocks * UNIT * sets, blocks * sets, steps))
    longs, l2bm, l1bm = min(found, key=lambda own: (own[0], own[1] + own[2]))
    return Hops(longs, l2bm, l1bm)
