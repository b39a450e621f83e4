"""What decisions about layouts compare: steps of movements and of element-wise work."""

import functools
from typing import Any

from mnc.mncore_backend.distribution import same_places
from mnc.mncore_backend.distribution.contraction import relayout_steps
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement import plan_relayout
from mnc.mncore_backend.movement.estimate import estimate
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder

LARGEST_PLANNED = 256  # long words per PE: planning the movement of more takes too long to do it for a comparison


@functools.lru_cache(maxsize=1024)
def movement_steps(source: Layout, target: Layout) -> float:
    """Steps of the planned movement from one layout to another, were every PE to fetch its part: what it picks from its
    own memory is as good as free, but brings nothing nearer, and would spread everything that is alike everywhere."""
    if same_places(source, target):
        return 0.0
    padded = any(layout.padded_shape != layout.shape for layout in (source, target))
    if padded or max(source.local_size, target.local_size) > LARGEST_PLANNED:
        return relayout_steps(source, target)  # padding rules out most short cuts, and the search for them is long

    def plan(builder: Builder) -> None:
        buffers = [builder.program.buffer("relayout", x.local_size, LOCAL_MEMORY) for x in (source, target)]
        plan_relayout(builder, source, buffers[0], target, buffers[1], picks=False)

    return float(estimate(plan).total_steps)


TRANSCENDENTAL_STEPS = 12
"""Steps of a typical polynomial kernel: range reduction, six to eight terms, scaling."""


def body_steps(op: Any, layout: Layout) -> int:
    """Instructions of an element-wise body on the share of one PE, roughly."""
    names = [inner.operation.name for inner in op.operation.regions[0].blocks[0].operations]
    once = sum(TRANSCENDENTAL_STEPS if name.startswith("math.") else 1 for name in names[:-1])
    return once * -(-layout.local_size // CYCLES)
