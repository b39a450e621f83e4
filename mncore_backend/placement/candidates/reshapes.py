"""Where a reshaped tensor lives when its elements cannot all stay: as near to where they were as its digits allow."""

from collections.abc import Iterator, Sequence
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout, LayoutError, reshape
from mnc.mncore_backend.placement.candidates.space import LANES, Digits, project, spread_bits, with_addresses
from mnc.mncore_backend.target import chip


def _groups(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[range, range]]:
    """The smallest runs of dimensions of both shapes that hold the same number of elements."""
    i = j = 0
    while i < len(old) or j < len(new):
        old_end, new_end = min(i + 1, len(old)), min(j + 1, len(new))
        while prod(old[i:old_end]) != prod(new[j:new_end]):
            if prod(old[i:old_end]) < prod(new[j:new_end]):
                old_end += 1
            else:
                new_end += 1
        yield range(i, old_end), range(j, new_end)
        i, j = old_end, new_end


def _bits(digits: Sequence[Digit]) -> list[tuple[Axis, int]]:
    """Coordinate bits above the PEs that digits select, most significant first."""
    chosen = [d for d in digits if d.axis in (Axis.L2B, Axis.L1B, Axis.MAB)]
    return [(d.axis, d.stride << bit) for d in chosen for bit in reversed(range(d.size.bit_length() - 1))]


def _spread_again(shape: Sequence[int], digits: Sequence[Digit]) -> list[Digits]:
    """Digits of the dimensions of `shape` that select the coordinates that `digits` do."""
    lanes = tuple(d for d in LANES if any(x.axis is d.axis and x.size == chip().axis_size[d.axis] for x in digits))
    width = prod(d.size for d in lanes)
    lane_dim = max(range(len(shape)), key=lambda i: (shape[i] / (-(-shape[i] // width) * width), i), default=None)
    units = [width if i == lane_dim else 1 for i in range(len(shape))]
    hardware, _ = spread_bits(shape, _bits(digits), units)
    return [
        with_addresses(extent, own, lanes if i == lane_dim else ())
        for i, (extent, own) in enumerate(zip(shape, hardware, strict=True))
    ]


def reshaped(layout: Layout, shape: Sequence[int]) -> Layout:
    """A layout for the tensor of `layout` in another shape (row-major order kept).

    Where no element has to move none does. Otherwise only the dimensions that the reshape splits or joins in a way
    that their digits do not follow are spread again, over the coordinates that they had before: what has to move stays
    as low in the chip as those coordinates are.
    """
    try:
        return reshape(layout, shape)
    except LayoutError:
        pass
    dims: list[Digits] = []
    for before, after in _groups(layout.shape, shape):
        new = [shape[j] for j in after]
        part = Layout(tuple(layout.shape[i] for i in before), tuple(layout.dims[i] for i in before))
        try:
            dims += reshape(part, new).dims
        except LayoutError:
            dims += _spread_again(new, list(part.digits()))
    return project(shape, dims, tuple(range(len(shape))))
