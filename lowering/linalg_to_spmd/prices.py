"""What decisions about layouts compare: steps of movements and of element-wise work."""

import functools
from typing import Any

from mnc.mncore_backend.distribution import same_places
from mnc.mncore_backend.distribution.costs import relayout_steps
from mnc.mncore_backend.layout import Layout, canonical
from mnc.mncore_backend.movement.relayout import DEAR, find_chain
from mnc.mncore_backend.movement.transfers import CYCLES

LARGEST_DETOURED = 8  # long words per PE: for more, the search for detours takes too long for a comparison
LARGEST_PLANNED = 256  # long words per PE: planning the movement of more takes too long to do it for a comparison


@functools.lru_cache(maxsize=1024)
def movement_steps(source: Layout, target: Layout) -> float:
    """Steps of the cheapest chain of moves from one layout to another, were every PE to fetch its part: what it picks
    from its own memory is as good as free, but brings nothing nearer, and would spread everything that is alike
    everywhere. Of large tensors detours are left to the plan of what is chosen: who needs one is seldom chosen."""
    if same_places(source, target):
        return 0.0
    rough = relayout_steps(source, target)
    padded = any(layout.padded_shape != layout.shape for layout in (source, target))
    largest = max(source.local_size, target.local_size)
    if padded or largest > LARGEST_PLANNED:
        return rough  # padding rules out most short cuts, and the search for them is long
    chain = find_chain(canonical(source), canonical(target), detours=largest <= LARGEST_DETOURED, limit=rough)
    steps = sum(move[0] for move in chain) if chain is not None else rough
    return float(steps if steps <= DEAR else min(steps, rough))


TRANSCENDENTAL_STEPS = 12
"""Steps of a typical polynomial kernel: range reduction, six to eight terms, scaling."""


def body_steps(op: Any, layout: Layout) -> int:
    """Instructions of an element-wise body on the share of one PE, roughly."""
    names = [inner.operation.name for inner in op.operation.regions[0].blocks[0].operations]
    once = sum(TRANSCENDENTAL_STEPS if name.startswith("math.") else 1 for name in names[:-1])
    return once * -(-layout.local_size // CYCLES)
