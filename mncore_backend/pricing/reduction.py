"""Prices of sums, maxima and minima of parts that differ in bits of hardware coordinates."""

from collections.abc import Mapping, Sequence

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.pricing.facts import REMEMBERED, Facts, facts
from mnc.mncore_backend.pricing.hops import DISTINCT_UNIT, UNIT
from mnc.mncore_backend.pricing.resources import NOTHING, Resources
from mnc.mncore_backend.target import CYCLES_PER_STEP, MABS_PER_QUAD, Shape, cached_per_machine, chip

QUAD = MABS_PER_QUAD - 1  # bits of the MABs of a quad
MOST_BY_PDM = 256  # long words up to which a sum over all L2Bs passes PDM, which disturbs no load from DRAM


@cached_per_machine()
def _rates() -> tuple[int, int]:
    """Long words per cycle of an L2BM whose contents are added up in a PDM, and in the DRAMs."""
    sums = [form for form in chip().mv_forms if form.opcode == "mvr"]
    by_pdm, by_dram = (next(f for f in sums if f.destination is shape) for shape in (Shape.PDM_ONE, Shape.DRAM_ALL))
    return by_pdm.source_rate, by_dram.source_rate


def _slice() -> int:
    """Long words of an L1BM that climb at a time."""
    return chip().memories[Memory.L1BM].longs // 8


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
    own, all_l2bs = facts(result), chip().l2bs - 1
    shifted = 0 if mab in (0, QUAD, chip().mabs_per_l1b - 1) else mab
    raw = _inside(own, shifted, pe, word)
    climbing = 0 if shifted else mab
    if climbing or l1b or l2b == all_l2bs:
        raw += _climb(own, climbing, l1b, everywhere=l2b == all_l2bs, in_place=raw != NOTHING)
    if l2b not in (0, all_l2bs):
        raw += _pairs(own, l2b)
    return raw


def _inside(own: Facts, mabs: int, pe: int, word: int) -> Resources:
    """Between words, PEs and MABs, four long words at a time: operands are shifted and added."""
    groups = -(-own.longs // CYCLES_PER_STEP)
    turns = (word != 0) + 2 * (pe >> 1) + (pe & 1) * (1 if pe & 2 else 4)
    all_mabs = chip().mabs_per_l1b - 1
    higher = [1 << i for i in range(mabs.bit_length()) if mabs >> i & 1]
    both = sum(mabs & (all_mabs & -2 * bit) != all_mabs & -2 * bit for bit in higher)
    sums = (word != 0) + pe.bit_count() + len(higher)
    return Resources(mau=groups * sums, alu=groups * (turns + 2 * both), l1bm=groups * 2 * (len(higher) + both))


def _climb(own: Facts, mabs: int, l1b: int, *, everywhere: bool, in_place: bool) -> Resources:
    """One climb to the L1BM, L2BM or PDM that all parts reach, added up on the way, and down again."""
    machine = chip()
    alike = own.free_mab == machine.mabs_per_l1b - 1 and (mabs != QUAD or machine.mabs_per_l1b == MABS_PER_QUAD)
    family = "m" if alike else "m4" if mabs == QUAD else "d"
    width = machine.l1bm_families[family].rate
    at_once = CYCLES_PER_STEP if family == "d" else 2 * CYCLES_PER_STEP
    steps = -(-own.longs // at_once)
    if not l1b and not everywhere:
        return Resources(l1bm=2 * steps)
    size = -(-steps * at_once * width // UNIT) * UNIT
    up = max(steps, size // (at_once * width))
    sets = machine.l1bs_per_l2b >> own.free_l1b.bit_count()
    apart = not l1b and sets > 2
    hop = size // DISTINCT_UNIT if apart else size // UNIT * sets
    longs = size * (machine.l1bs_per_l2b if apart else sets)
    climb = Resources(l1bm=up + steps, l2bm=2 * hop)
    if not everywhere:
        return climb
    slices = -(-steps // max(1, _slice() // (at_once * width)))
    by_pdm = min(longs, _slice() * longs // size) <= MOST_BY_PDM
    pdm_rate, dram_rate = _rates()
    data = longs / (pdm_rate if by_pdm else dram_rate) / CYCLES_PER_STEP
    turns = 2 * (slices if in_place else 1)
    data = max(data, turns * data / slices)  # what follows each other does not overlap
    issued = 2 * slices * chip().mv_issue_interval_steps
    return climb + Resources(mv=max(data, issued), latency=turns * chip().mv_latency_steps)


def _pairs(own: Facts, l2b: int) -> Resources:
    """L2Bs exchange what they have with another one, bit by bit, and add it. Those of a group share a port of PDM."""
    groups, times = -(-own.longs // CYCLES_PER_STEP), l2b.bit_count()
    longs = groups * CYCLES_PER_STEP * chip().l1bm_families["d"].rate  # of one L1B
    inside = chip().l2bs_per_group - 1
    one = Resources(mau=groups, alu=2 * groups, l1bm=2 * groups, l2bm=2 * longs // DISTINCT_UNIT)
    data = longs / 4 * (l2b & inside).bit_count() + longs / 2 * (l2b & ~inside).bit_count()
    return one * times + Resources(mv=data, latency=2 * times * chip().mv_latency_steps)
