"""Long reductions that cannot be combined across PEs, products and those of integers, and long running sums, in two
stages.

The sums of floats of all PEs meet in the reduction network. What does not meet there is reduced where all of it is, so
that a PE would have to hold everything: therefore groups are reduced first, each in a place of its own.
"""

import math
from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.passes.graph.decomposition.build import flag, integer, reduced, value
from mnc.passes.graph.matching import is_float, reshaped, shape_of

FEW = 256
"""Elements that are reduced in one place: less than what a group more costs."""
MOST_ADDED = 2 * FEW**3
"""Elements that a running sum looks at for all of its results, up to which it takes less than to move its pieces."""
_NEUTRAL = {"sum": 0.0, "prod": 1.0}


def needs_stages(kind: str, operand: ir.Value, axes: Sequence[int]) -> bool:
    """Whether nothing but one PE could combine all of it, and results are too few to share the work."""
    shape = shape_of(operand)
    count = math.prod(shape[axis] for axis in axes)
    alone = kind == "prod" or (kind in ("sum", "max", "min") and not is_float(operand))
    return alone and count > max(FEW, math.prod(shape) // max(count, 1))


def in_stages(kind: str, operand: ir.Value, axes: Sequence[int]) -> ir.Value:
    """About as many groups as there are elements in a group: whole dimensions, or pieces of the longest."""
    shape = shape_of(operand)
    count = math.prod(shape[axis] for axis in axes)
    by_extent = sorted(axes, key=lambda axis: -shape[axis])
    longest, enough = by_extent[0], math.isqrt(count)
    size = -(-enough * shape[longest] // count)
    if shape[longest] < enough or size == 1:
        kept = _kept(shape, by_extent, enough)
        return reduced(kind, reduced(kind, operand, [axis for axis in axes if axis not in kept]), kept)
    pieces = _cut(kind, operand, longest, size)
    inner = [axis + (axis > longest) for axis in axes if axis != longest] + [longest + 1]
    return reduced(kind, reduced(kind, pieces, sorted(inner)), [longest])


def _kept(shape: Sequence[int], axes: Sequence[int], enough: int) -> list[int]:
    """The first axes that together have enough groups, ascending."""
    number = next(n for n in range(1, len(axes) + 1) if math.prod(shape[axis] for axis in axes[:n]) >= enough)
    return sorted(axes[:number])


def _cut(kind: str, operand: ir.Value, axis: int, size: int) -> ir.Value:
    """A dimension as two, pieces of `size` elements. What fills the last one up changes no result."""
    shape = list(shape_of(operand))
    groups = -(-shape[axis] // size)
    high = [groups * size - extent if i == axis else 0 for i, extent in enumerate(shape)]
    if any(high):
        mode = "constant" if kind in _NEUTRAL else "edge"
        filler = _NEUTRAL.get(kind, 0.0)
        operand = value("pad", operand, low=[0] * len(shape), high=high, value=filler, mode=mode)
    return reshaped(operand, [*shape[:axis], groups, size, *shape[axis + 1 :]])


def running_sum(op: Any) -> list[ir.Value] | None:
    """A long running sum as one inside of pieces, to which the sums of the pieces before are added: every result adds
    up all elements that it may need, so that the work grows with the square of the extent."""
    operand, axis = op.operation.operands[0], integer(op, "axis")
    shape = list(shape_of(operand))
    if shape[axis] <= FEW or math.prod(shape) * shape[axis] <= MOST_ADDED:
        return None
    reverse = flag(op, "reverse")
    pieces = _cut("sum", operand, axis, math.isqrt(shape[axis] - 1) + 1)
    inside = value("cum_sum", pieces, axis=axis + 1, exclusive=flag(op, "exclusive"), reverse=reverse)
    before = value("cum_sum", reduced("sum", pieces, [axis + 1]), axis=axis, exclusive=True, reverse=reverse)
    filled = [*shape[:axis], math.prod(shape_of(pieces)[axis : axis + 2]), *shape[axis + 1 :]]
    result = reshaped(value("add", inside, before), filled)
    if filled != shape:
        result = value("slice", result, starts=[0] * len(shape), limits=shape, steps=[1] * len(shape))
    return [result]
