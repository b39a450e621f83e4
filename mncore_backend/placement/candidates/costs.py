"""What arrivals, relayouts and sums of tensors cost, roughly, as far as layouts tell."""

from collections.abc import Sequence

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.placement.candidates.space import same_places
from mnc.mncore_backend.pricing import Resources
from mnc.mncore_backend.pricing.hops import DISTINCT_UNIT, UNIT
from mnc.mncore_backend.target import CYCLES_PER_STEP, MABS_PER_QUAD, MATRIX_ROWS, PES_PER_MAB, cached_per_machine, chip

REMEMBERED = 20_000
"""Prices that are remembered: a search over layouts asks for the same ones again and again."""


def _distinct_mabs(layout: Layout) -> int:
    """MABs of an L1B that get data of their own on the way down: none, one of each quad, or all of them, because only
    the broadcasts to all MABs and to quads make replicas."""
    bits = layout.selected_bits(Axis.MAB)
    if bits == 0:
        return 1
    mabs = chip().mabs_per_l1b
    return mabs // MABS_PER_QUAD if bits & (MABS_PER_QUAD - 1) == 0 else mabs


def compute_steps(counts: dict[str, int], precision: str) -> float:
    """Steps of the matrix unit: products of four rows, and half of the bank writes (the rest overlaps)."""
    if precision == "half":
        halves = kernel_resources(counts, precision)
        return halves.mau + halves.alu
    passes = 2 if precision == "single" else 1
    blocks = counts["columns"] * counts["k"] * counts["b"] * passes
    rows = -(-counts["rows"] // 4)
    convert = counts["b"] * counts["k"] * (rows + 2 * counts["columns"])
    return blocks * (rows + 1) + convert


def kernel_resources(counts: dict[str, int], precision: str) -> Resources:
    """Steps of the matrix kernels of a PE, as `kernels/matmul` writes them: products and bank writes on the MAU,
    conversions on the ALU."""
    if precision == "half":
        return min(_of_halves(counts), kernel_resources(counts, "pseudo-single"), key=lambda r: max(r.mau, r.alu))
    groups, columns, blocks = -(-counts["rows"] // 4), counts["columns"], counts["b"] * counts["k"]
    passes = 2 if precision == "single" else 1
    # Groups of four rows whose converted vectors, and groups of four sums of eight, that register files hold.
    vectors, results = (chip().memories[file].longs // CYCLES_PER_STEP for file in (Memory.GRF1, Memory.GRF0))
    at_once, results_at_once = min(groups, vectors * 3 // 16), results * 3 // 4
    row_chunks, column_chunks = -(-groups // at_once), -(-columns * at_once // results_at_once)
    mau = blocks * columns * passes * max(2 * row_chunks, groups)
    return Resources(mau=mau, alu=blocks * (2 * passes * columns * row_chunks + groups * column_chunks))


def _of_halves(counts: dict[str, int]) -> Resources:
    """The same for a product of halves: a matrix has two blocks of what is contracted and two of columns. Blocks that
    lie apart are copied side by side first. Packed matrices need no conversion, and two of their rows fill a bank in a
    cycle. As many rows are held at once as there is room for, or as leave room for the sums of all columns, or half as
    many."""
    groups, columns, blocks = -(-counts["rows"] // 4), -(-counts["columns"] // 2), counts["b"] * -(-counts["k"] // 2)
    vectors, results = (chip().memories[file].longs // CYCLES_PER_STEP for file in (Memory.GRF1, Memory.GRF0))
    most, sums = min(groups, vectors * 3 // 16), results * 3 // 8
    matrix, rows = (3 if counts[f"{factor}_apart"] else 1 for factor in "wx")
    filled, converted = (_BANK_OF_HALVES // 2, 0) if counts["packed"] else (_BANK_OF_HALVES, _BANK_OF_HALVES * matrix)

    def held(at_once: int) -> Resources:
        row_chunks, column_chunks = -(-groups // at_once), -(-columns * at_once // sums)
        return Resources(
            mau=blocks * columns * max(filled * row_chunks, groups),
            alu=blocks * (converted * columns * row_chunks + rows * groups * column_chunks),
        )

    of_all_columns = max(1, min(most, sums // columns))
    ways = (held(at_once) for at_once in (most, of_all_columns, max(1, most // 2)))
    return min(ways, key=lambda r: max(r.mau, r.alu))


_BANK_OF_HALVES = MATRIX_ROWS["h"] // CYCLES_PER_STEP
"""Steps that fill a bank with halves, a row in each cycle."""


def arrival(layout: Layout) -> Resources:
    """What it takes to bring a tensor from DRAM: MV at 64 long words per cycle over the chip (half of that when groups
    share), L2BM to L1BM, L1BM to PE."""
    mabs = _distinct_mabs(layout)
    l1bs = 1 << layout.selected_bits(Axis.L1B).bit_count()
    l2b_bits = layout.selected_bits(Axis.L2B)
    per_l1b = layout.local_size * PES_PER_MAB * mabs
    machine = chip()
    from_l2bm, per_l2b = min(
        (per_l1b * l1bs / UNIT, per_l1b * l1bs), (per_l1b / DISTINCT_UNIT, per_l1b * machine.l1bs_per_l2b)
    )
    halves = machine.l2bs_per_group
    inside, across = l2b_bits & (halves - 1), l2b_bits & ~(halves - 1)
    l2bs = (halves if inside else 1) * (machine.groups if across else 1)
    rate = machine.groups * machine.dram_port_longs_per_cycle * CYCLES_PER_STEP  # half of that when groups share
    transfer = per_l2b * l2bs / (rate if l2bs > halves else rate / 2)
    at_once = CYCLES_PER_STEP if mabs == machine.mabs_per_l1b else 2 * CYCLES_PER_STEP
    return Resources(mv=transfer, l2bm=from_l2bm, l1bm=layout.local_size / at_once)


@cached_per_machine(REMEMBERED)
def arrival_steps(layout: Layout) -> float:
    """Steps to bring a tensor from DRAM, one hop after the other."""
    return arrival(layout).total


@cached_per_machine(REMEMBERED)
def relayout_steps(source: Layout, target: Layout) -> float:
    """A rough price of moving a tensor on the chip; the highest level that changes decides.

    Inside an L1B a trip through L1BM costs a few steps per long word. Between L1Bs everything passes L2BM; between L2Bs
    it passes PDM, one transfer per L2B with its latency, and one per piece where L2Bs exchange different pieces. The
    numbers are fitted to plans of layouts that occur in convolutional networks.
    """
    if same_places(source, target):
        return 0.0
    steps = 10 + (source.local_size + target.local_size) / 2
    largest = max(source.local_size, target.local_size)
    changed = [axis for axis in (Axis.PE, *SPLIT_AXES) if _changes(source, target, axis)]
    elements = source.size / (1 << source.selected_bits(Axis.L2B).bit_count())  # of one L2B
    if all(target.selected_bits(axis) == 0 for axis in changed):  # everything arrives everywhere: nothing to pick
        prices = {Axis.PE: largest, Axis.MAB: 20, Axis.L1B: 40 + elements / 64, Axis.L2B: 300 + source.size / 18}
    else:  # every L1B gets all of its L2B, every L2B what it needs, and each PE picks
        exchanged = {Axis.L1B: 60 + elements / 12, Axis.L2B: 2000 + source.size / 12}
        prices = {Axis.PE: largest, Axis.MAB: 20 + 4 * largest, **exchanged}
    steps += sum(prices[axis] for axis in changed)
    return steps


def _changes(source: Layout, target: Layout, axis: Axis) -> bool:
    """Whether an axis selects other digits afterwards. Spreading replicas over an axis is a matter of choosing."""
    before = [(f.dim, f.weight, f.size, f.stride) for f in source.fields if f.axis is axis]
    after = [(f.dim, f.weight, f.size, f.stride) for f in target.fields if f.axis is axis]
    return bool(before) and before != after


def reduce_steps(result: Layout, partial: Sequence[Axis], *, spread: bool = True) -> float:
    """Steps to add partial sums and give the total to everyone who held a part. `spread`: what follows is split over
    the L2Bs, so that a total that all of them hold is divided among them once more, and DRAM saves nothing."""
    local = result.local_size
    in_l1bm = local * PES_PER_MAB * _distinct_mabs(result)
    in_l2bm = in_l1bm * (1 << result.selected_bits(Axis.L1B).bit_count())
    mabs = result.replicated_bits(Axis.MAB)
    # All MABs, or those of quads, are added on the way up; others exchange bit by bit, four long words at a time.
    at_once = mabs in (MABS_PER_QUAD - 1, chip().mabs_per_l1b - 1)
    climbing = local / 4 + 12 if at_once else 2 + mabs.bit_count() * (local + 3)
    # Two transfers of 8 long words per cycle by PDM, or of 32 by the DRAMs, and the way to them.
    by_pdm, by_dram = in_l2bm / 12 + 300, in_l2bm / 48 + 340
    prices = {
        Axis.MAB: climbing,
        Axis.L1B: local / 2 + in_l1bm / 32 + 40,
        Axis.L2B: local / 2 + (by_pdm if spread else min(by_pdm, by_dram)),
    }
    return sum(prices[axis] for axis in partial)


@cached_per_machine(REMEMBERED)
def outlook(result: Layout) -> float:
    """What the consumers are likely to pay: most reduce or contract the last dimension, and that is dear across L1Bs
    and dearer across L2Bs."""
    last = dict.fromkeys(SPLIT_AXES, 0)
    for own in result.fields:
        if own.dim == len(result.shape) - 1 and own.axis in last:
            last[own.axis] |= (own.size - 1) * own.stride
    # All L2Bs exchange by a transfer that reduces and one that broadcasts, some of them by a transfer each.
    l2b = 0 if not last[Axis.L2B] else 400 if last[Axis.L2B] == chip().l2bs - 1 else 2000
    return l2b + 15 * (last[Axis.L1B] != 0)


def summed_by_update(kept: Layout, other: Layout) -> list[Axis]:
    """Axes over which a gradient of the kept factor is a sum that is worth avoiding: the L2Bs, if the other factor is
    spread over them and every one has a replica. Sums inside an L2B are cheap, and other plans have theirs."""
    everywhere = kept.replicated_bits(Axis.L2B) == chip().l2bs - 1
    return [Axis.L2B] if everywhere and other.selected_bits(Axis.L2B) else []
