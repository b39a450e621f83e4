"""What places that execute the same instructions agree on."""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

NOBODY = -1


def agreed(
    values: NDArray[np.integer], wanted: NDArray[np.bool_], axes: tuple[int, ...]
) -> NDArray[np.int64] | None:
    """The value, none of which is negative, that all wanted places along ascending `axes` share; -1 where nobody wants
    one. None if they differ."""
    low = _folded(np.minimum, np.where(wanted, values, np.iinfo(values.dtype).max), axes)
    high = _folded(np.maximum, np.where(wanted, values, NOBODY), axes)
    return None if ((low != high) & (high != NOBODY)).any() else high.astype(np.int64)


def _folded(combine: np.ufunc, array: NDArray[np.integer], axes: tuple[int, ...]) -> NDArray[np.integer]:
    """`combine.reduce` over `axes`, the outer ones first, then slice by slice over inner ones, which are PEs or words:
    numpy takes ten times longer over a few neighbouring elements, or over inner and outer axes at once."""
    outer = tuple(axis for i, axis in enumerate(axes) if axis == i)
    array = combine.reduce(array, axis=outer)
    for axis in reversed(axes[len(outer) :]):
        array = reduce(combine, np.moveaxis(array, axis - len(outer), 0))
    return array
