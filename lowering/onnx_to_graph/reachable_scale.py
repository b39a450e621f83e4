"""A scale by which every product with an extent has as many elements; see `resize_scales`."""

import math

import numpy as np

_MOST = 2 / float(np.finfo(np.float32).eps)
"""Elements up to which single floats are exact numbers of them."""


def reachable(scale: float, extent: int) -> np.float32:
    """A scale that gives ``floor(extent * scale)`` elements of the product of single floats, whatever multiplies."""
    found = np.float32(scale)
    if not 0 < found * np.float32(extent) < _MOST:
        return found  # whoever handles the node says what is wrong with it
    wanted = math.floor(found * np.float32(extent))
    while math.floor(float(found) * extent) < wanted:
        found = np.nextafter(found, np.float32(np.inf))
    return found
