"""Rows of a tensor in addresses, one behind the other: what a step of a sequence reads or writes is one of them."""

from math import lcm

from mnc.mncore_backend.layout.layout import Axis, Digit, Layout, LayoutError

ALIGNED = 2
"""Long words at multiples of which a row begins, as buffers do: an access to two of them needs that."""


def row_longs(row: Layout) -> int:
    """Long words of a PE from one row to the next, where a row has this layout."""
    spans = (digit.size * digit.stride for digit in row.digits() if digit.axis is Axis.ADDRESS and digit.size > 1)
    return lcm(ALIGNED, max(spans, default=1))


def of_rows(row: Layout, dim: int, rows: int) -> Layout:
    """The layout of so many rows, of which each has the layout `row` and is one index of the dimension `dim`. Where a
    row has places for more than one index, which are empty, there are copies of its elements.

    Raises LayoutError where a row is more than one index.
    """
    if row.shape[dim] != 1:
        raise LayoutError(f"dimension {dim} of {row!r} is no single index")
    shape, dims = list(row.shape), list(row.dims)
    shape[dim], dims[dim] = rows, (Digit(rows, Axis.ADDRESS, row_longs(row)),)
    return Layout(tuple(shape), tuple(dims))


def without_spare_places(row: Layout, dim: int) -> Layout:
    """The layout of a row that has copies of its elements where `row` has places for more than the one index of the
    dimension `dim`."""
    dims = list(row.dims)
    dims[dim] = tuple(digit for digit in dims[dim] if digit.axis is Axis.ADDRESS)
    return Layout(row.shape, tuple(dims))
