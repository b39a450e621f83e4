"""What decisions about layouts compare: steps of movements and of element-wise work."""

from collections.abc import Collection, Sequence
from math import inf

from mnc.mncore_backend.layout import Axis, Layout, canonical
from mnc.mncore_backend.movement.relayout import DEAR, find_chain
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.movement.within import PricesWithin
from mnc.mncore_backend.placement.candidates import Access, Digits, Windows, kernel_dims, same_places
from mnc.mncore_backend.placement.candidates.costs import relayout_steps
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.pricing import NOTHING, Resources, reduction

LARGEST_DETOURED = 8  # long words per PE: for more, the search for detours takes too long for a comparison
LARGEST_PLANNED = 256  # long words per PE: planning the movement of more takes too long to do it for a comparison


def movement_steps(source: Layout, target: Layout, limit: float = inf) -> float:
    """Steps of the cheapest chain of moves from one layout to another, were every PE to fetch its part: what it picks
    from its own memory is as good as free, but brings nothing nearer, and would spread everything that is alike
    everywhere. Of large tensors detours are left to the plan of what is chosen: who needs one is seldom chosen.

    What is more than `limit` steps may be given as infinitely many: so much need not be found out."""
    if same_places(source, target):
        return 0.0
    rough = relayout_steps(source, target)
    padded = any(layout.padded_shape != layout.shape for layout in (source, target))
    if padded or max(source.local_size, target.local_size) > LARGEST_PLANNED:
        return rough  # padding rules out most short cuts, and the search for them is long
    return _LEAST.steps((source, target), limit, lambda: _planned_steps(source, target, rough, limit))


_LEAST = PricesWithin()


def _planned_steps(source: Layout, target: Layout, rough: float, limit: float) -> float:
    """The same by a search for chains; infinitely many for more than `limit`."""
    detours = max(source.local_size, target.local_size) <= LARGEST_DETOURED
    # Of chains that are dear the rough price is taken where it is less: then it is of interest whether one is dear.
    within = limit if rough > limit else max(DEAR, rough)
    chain = find_chain(canonical(source), canonical(target), detours=detours, limit=within)
    if chain is None and within < max(DEAR, rough):
        return inf
    steps = sum(move[0] for move in chain) if chain is not None else rough
    price = float(steps if steps <= DEAR else min(steps, rough))
    return price if price <= limit else inf


def loop_steps(work: int, layout: Layout) -> int:
    """Steps of `work` instructions per long word on the share of one PE, roughly."""
    return work * -(-layout.local_size // CYCLES)


def sums_of(result: Layout, digits: Sequence[Digits], parallel: Sequence[bool]) -> Resources:
    """What the sums take over places that differ in reduced dimensions. `digits`: of the iteration space."""
    reduced = [d for own, is_parallel in zip(digits, parallel, strict=True) if not is_parallel for d in own]
    bits: dict[Axis, int] = {}
    for d in reduced:
        if d.size > 1 and d.axis is not Axis.ADDRESS:
            bits[d.axis] = bits.get(d.axis, 0) | (d.size - 1) * d.stride
    return reduction(result, bits) if bits else NOTHING


def rearrangement_steps(source: Layout, result: Layout) -> float:
    """Steps to bring a tensor to its place in another one of the same rank, of which it is a part, or the whole."""
    steps = float(result.local_size)
    if len(source.shape) != len(result.shape):
        return steps + exchange_steps(result, set(SPLIT_AXES))
    crossed = set()
    for own, new, before, after in zip(source.dims, result.dims, source.shape, result.shape, strict=True):
        held = [{(d.axis, d.size, d.stride) for d in dim if d.axis is not Axis.ADDRESS} for dim in (own, new)]
        if held[0] != held[1] or before != after:
            crossed |= {axis for axis, _, _ in held[0] | held[1]}
    return steps + exchange_steps(result, crossed)


PER_ELEMENT = 0.08
"""Steps of an exchange between L1Bs or L2Bs per element."""


def exchange_steps(result: Layout, axes: Collection[Axis]) -> float:
    """Steps to bring elements to other places along axes."""
    elements = result.size / (1 << result.selected_bits(Axis.L2B).bit_count())
    prices = {
        Axis.MAB: 20 + 4 * result.local_size,
        Axis.L1B: 60 + PER_ELEMENT * elements,
        Axis.L2B: 2000 + PER_ELEMENT * result.size,
        Axis.PE: result.local_size,
    }
    return sum(prices[axis] for axis in prices if axis in axes)


COPIED, COPIED_APART = 3.0, 5.5
"""Steps to make a long word of copies of a tensor, whose kernels are inside of the PEs of a MAB, or spread over MABs.
The planner takes so many for kernels of 5 x 5 in tiles of 140 to 1,120 long words."""


def copying_steps(windows: Windows, access: Access, copies: Layout) -> float:
    """Steps to make `copies`, one for every point of an iteration space, of what is near."""
    kernels = kernel_dims(windows)
    spread = [digit for d, own in zip(access, copies.dims, strict=True) if d in kernels for digit in own]
    apart = any(digit.size > 1 and digit.axis in SPLIT_AXES for digit in spread)
    return (COPIED_APART if apart else COPIED) * copies.local_size
