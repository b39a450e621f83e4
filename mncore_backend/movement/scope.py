"""Which source word every target word needs, and how far it has to travel."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import AXIS_SIZE, CHIP_SHAPE, Axis, Layout, locate, place

Index = NDArray[np.integer]
LEVELS = (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE)


@dataclass(slots=True)
class Need:
    """Per target word [8, 8, 16, 4, words]: `wanted` marks words that hold a source element (the others take the
    padding); `at` gives the coordinates of the source word, the nearest replica."""

    wanted: NDArray[np.bool_]
    at: dict[Axis, Index]

    def keeps(self, axis: Axis) -> bool:
        """Whether every word stays within its own coordinate of `axis`."""
        own = np.arange(AXIS_SIZE[axis]).reshape(*(-1 if a is axis else 1 for a in LEVELS), 1)
        return bool((~self.wanted | (self.at[axis] == own)).all())

    @property
    def source_words(self) -> Index:
        """Word address within the source buffer."""
        return 2 * self.at[Axis.ADDRESS] + self.at[Axis.W]


def mapped(target: Layout, index_map: Index | None) -> Index:
    """Flat source element in every word of the target, -1 for none: the placement of the target, seen through the map
    from target elements to source elements (None: the same tensor)."""
    held = place(target)
    return held if index_map is None else np.append(np.asarray(index_map, np.int64).reshape(-1), -1)[held]


def analyse(source: Layout, target: Layout, index_map: Index | None) -> Need:
    """`index_map[i]` is the flat source element of flat target element i, -1 for padding; None: the same tensor."""
    flat = mapped(target, index_map)
    wanted = flat >= 0
    element = np.where(wanted, flat, 0)
    where = locate(source)
    at: dict[Axis, Index] = {}
    for position, axis in enumerate((*LEVELS, Axis.ADDRESS, Axis.W)):
        coordinate = where[axis][element]
        if axis in LEVELS:
            shape = tuple(-1 if i == position else 1 for i in range(5))
            own = np.arange(AXIS_SIZE[axis], dtype=np.int32).reshape(shape)
            coordinate |= own & source.replicated_bits(axis)
        elif axis is Axis.W and source.replicated_bits(Axis.W):
            coordinate |= np.arange(flat.shape[-1], dtype=np.int32) & 1
        at[axis] = coordinate
    return Need(wanted, at)


def distinct(layout: Layout, axis: Axis) -> list[int]:
    """Coordinates of an axis that hold different data: one representative per set of replicas."""
    return [i for i in range(AXIS_SIZE[axis]) if i & layout.replicated_bits(axis) == 0]


def uniform(values: Index) -> NDArray[np.bool_]:
    """Per trailing index: whether all PEs agree. `values` is [8, 8, 16, 4, n]."""
    flat = values.reshape(int(np.prod(CHIP_SHAPE)), -1)
    return (flat == flat[0]).all(axis=0)
