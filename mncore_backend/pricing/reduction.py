"""Prices of sums, maxima and minima of parts that differ in bits of hardware coordinates."""

from collections.abc import Mapping, Sequence

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.pricing.facts import REMEMBERED, Facts, facts
from mnc.mncore_backend.pricing.hops import DISTINCT_UNIT, UNIT
from mnc.mncore_backend.pricing.resources import NOTHING, Resources
from mnc.mncore_backend.target import CYCLES_PER_STEP, cached_per_machine, chip

ALL_MABS, ALL_L2BS, QUAD = 15, 7, 3
PDM_RATE, DRAM_RATE = 8, 32
"""Long words per cycle of an L2BM whose contents are added up in a PDM, and in the DRAMs."""
MOST_BY_PDM = 4096
SLICE = 1024  # long words of an L1BM that climb at a time


def reduction(result: Layout, partial: Mapping[Axis, int] | Sequence[Axis]) -> Resources:
    """What it takes to combine parts and give the result to everyone who held one.

    Args:
        result: the layout of the result, with replicas where there were parts.
        partial: hardware axes with the bits of their coordinates in which parts differ; without bits, all bits along
            which the result has replicas.
    """
    named = partial if isinstance(partial, Mapping) else {axis: result.replicated_bits(axis) for axis in partial}
    bits = tuple(named.get(axis, 0) for axis in (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE, Axis.W))
    return _reduction(result, *bits)


@cached_per_machine(REMEMBERED)
def _reduction(result: Layout, l2b: int, l1b: int, mab: int, pe: int, word: int) -> Resources:
    own = facts(result)
    shifted = 0 if mab in (0, QUAD, ALL_MABS) else mab
    raw = _inside(own, shifted, pe, word)
    climbing = 0 if shifted else mab
    if climbing or l1b or l2b == ALL_L2BS:
        raw += _climb(own, climbing, l1b, everywhere=l2b == ALL_L2BS, in_place=raw != NOTHING)
    if l2b not in (0, ALL_L2BS):
        raw += _pairs(own, l2b)
    return raw


def _inside(own: Facts, mabs: int, pe: int, word: int) -> Resources:
    """Between words, PEs and MABs, four long words at a time: operands are shifted and added."""
    groups = -(-own.longs // CYCLES_PER_STEP)
    turns = (word != 0) + 2 * (pe >> 1) + (pe & 1) * (1 if pe & 2 else 4)
    higher = [bit for bit in (8, 4, 2, 1) if mabs & bit]
    both = sum(mabs & (ALL_MABS & -2 * bit) != ALL_MABS & -2 * bit for bit in higher)
    sums = (word != 0) + pe.bit_count() + len(higher)
    return Resources(mau=groups * sums, alu=groups * (turns + 2 * both), l1bm=groups * 2 * (len(higher) + both))


def _climb(own: Facts, mabs: int, l1b: int, *, everywhere: bool, in_place: bool) -> Resources:
    """One climb to the L1BM, L2BM or PDM that all parts reach, added up on the way, and down again."""
    width = 4 if own.free_mab == ALL_MABS and mabs != QUAD else 16 if mabs == QUAD else 64
    at_once = CYCLES_PER_STEP if width == UNIT else 2 * CYCLES_PER_STEP
    steps = -(-own.longs // at_once)
    if not l1b and not everywhere:
        return Resources(l1bm=2 * steps)
    size = -(-steps * at_once * width // UNIT) * UNIT
    up = max(steps, size // (at_once * width))
    sets = 1 << 3 - own.free_l1b.bit_count()
    apart = not l1b and sets > 2
    hop = size // DISTINCT_UNIT if apart else size // UNIT * sets
    longs = size * (8 if apart else sets)
    climb = Resources(l1bm=up + steps, l2bm=2 * hop)
    if not everywhere:
        return climb
    slices = -(-steps // max(1, SLICE // (at_once * width)))
    by_pdm = min(longs, SLICE * longs // size) <= MOST_BY_PDM
    data = longs / (PDM_RATE if by_pdm else DRAM_RATE) / CYCLES_PER_STEP
    turns = 2 * (slices if in_place else 1)
    data = max(data, turns * data / slices)  # what follows each other does not overlap
    issued = 2 * slices * chip().mv_issue_interval_steps
    return climb + Resources(mv=max(data, issued), latency=turns * chip().mv_latency_steps)


def _pairs(own: Facts, l2b: int) -> Resources:
    """L2Bs exchange what they have with another one, bit by bit, and add it. Those of a group share a port of PDM."""
    groups, times = -(-own.longs // CYCLES_PER_STEP), l2b.bit_count()
    longs = groups * CYCLES_PER_STEP * UNIT  # of one L1B
    one = Resources(mau=groups, alu=2 * groups, l1bm=2 * groups, l2bm=2 * longs // DISTINCT_UNIT)
    data = max(longs * (l2b & 1), longs / 2 * (l2b >> 1).bit_count())
    return one * times + Resources(mv=data, latency=2 * times * chip().mv_latency_steps)
