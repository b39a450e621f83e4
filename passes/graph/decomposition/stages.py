"""Long reductions that cannot be combined across PEs, products and those of integers, and long running sums, in two
stages; running sums of many results.

The sums of floats of all PEs meet in the reduction network. What does not meet there is reduced where all of it is, so
that a PE would have to hold everything: therefore groups are reduced first, each in a place of its own.
"""

import math
from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.passes.graph.decomposition.build import flag, integer, reduced, value, zeros_around
from mnc.passes.graph.matching import is_float, reshaped, shape_of

FEW = 256
"""Elements that are reduced in one place: less than what a group more costs."""
MOST_ADDED = 2 * FEW**3
"""Elements that a running sum looks at for all of its results, up to which it takes less than to move its pieces."""
MANY = 8192
"""Results, two in every PE, from which on sums of doubling reach take less than to add up what every result needs, as
measured for extents of 4 to 1000: fewer ones are added up side by side."""
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
    """As it stands, every result adds up all elements that it may need, so that the work grows with the square of the
    extent. Where results are many, sums of doubling reach take its place; a long one is one inside of pieces, to which
    the sums of the pieces before are added."""
    operand, axis = op.operation.operands[0], integer(op, "axis")
    shape, rank = shape_of(operand), len(shape_of(operand))
    is_long = shape[axis] > FEW and math.prod(shape) * shape[axis] > MOST_ADDED
    is_many = shape[axis] > 2 and math.prod(shape) >= MANY
    if not is_long and not is_many:
        return None
    is_exclusive, reverse = flag(op, "exclusive"), flag(op, "reverse")
    if is_many and axis < rank - 1:  # the last dimension lies within PEs, so that nothing moves between them
        order = [i for i in range(rank) if i != axis] + [axis]
        turned = value("transpose", operand, permutation=order)
        total = value("cum_sum", turned, axis=rank - 1, exclusive=is_exclusive, reverse=reverse)
        return [value("transpose", total, permutation=[order.index(i) for i in range(rank)])]
    return [(_of_pieces if is_long else _by_doubling)(operand, axis, is_exclusive, reverse)]


def _of_pieces(operand: ir.Value, axis: int, is_exclusive: bool, reverse: bool) -> ir.Value:
    shape = list(shape_of(operand))
    pieces = _cut("sum", operand, axis, math.isqrt(shape[axis] - 1) + 1)
    inside = value("cum_sum", pieces, axis=axis + 1, exclusive=is_exclusive, reverse=reverse)
    before = value("cum_sum", reduced("sum", pieces, [axis + 1]), axis=axis, exclusive=True, reverse=reverse)
    filled = [*shape[:axis], math.prod(shape_of(pieces)[axis : axis + 2]), *shape[axis + 1 :]]
    result = reshaped(value("add", inside, before), filled)
    if filled != shape:
        result = value("slice", result, starts=[0] * len(shape), limits=shape, steps=[1] * len(shape))
    return result


def _by_doubling(operand: ir.Value, axis: int, is_exclusive: bool, reverse: bool) -> ir.Value:
    """The scan of Hillis and Steele, Data parallel algorithms, CACM 29(12), 1986: the sum of 2 n elements is that of
    the last n of them and of the n before."""
    total = _moved(operand, axis, 1, reverse) if is_exclusive else operand
    reach = 1
    while reach < shape_of(operand)[axis]:
        total = value("add", total, _moved(total, axis, reach, reverse))
        reach *= 2
    return total


def _moved(operand: ir.Value, axis: int, distance: int, reverse: bool) -> ir.Value:
    """By a distance to the end, or to the beginning if `reverse`; zeros take the place of what was there."""
    some = [distance if i == axis else 0 for i in range(len(shape_of(operand)))]
    less = [-n for n in some]
    return zeros_around(operand, less, some) if reverse else zeros_around(operand, some, less)
