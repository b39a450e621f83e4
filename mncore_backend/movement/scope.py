"""Which source word every target word needs, and how far it has to travel."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import (
    Axis,
    Layout,
    PlaceCode,
    addresses_in_use,
    place,
    place_codes,
)
from mnc.mncore_backend.target import chip

Index = NDArray[np.integer]
LEVELS = (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE)


@dataclass
class Need:
    """Per target word [L2B, L1B, MAB, PE, words]: `wanted` marks words that hold a source element (the others take the
    padding), `place` is the place of the source word, the nearest replica.

    Along the axes of `alike` all coordinates want the same, so that only the first of them is there, with an extent of
    1. With each axis go the bits of its coordinate in which a source word differs from where it is wanted in some of
    them: none where the source is replicated."""

    wanted: NDArray[np.bool_]
    code: PlaceCode
    place: Index
    alike: Mapping[Axis, int] = field(default_factory=dict)

    def at(self, axis: Axis) -> Index:
        """Coordinates of the source word along one axis."""
        return self.code.get(self.place, axis)

    @cached_property
    def way(self) -> Index:
        """Bits of the place in which each word differs from where it is wanted, apart from address and word."""
        own = sum(self.own(axis).astype(self.place.dtype) << self.code.shift(axis) for axis in LEVELS)
        elsewhere = sum(bits << self.code.shift(axis) for axis, bits in self.alike.items())
        return (self.place ^ own) & sum(self.code.field(axis) for axis in LEVELS) | self.place.dtype.type(elsewhere)

    def own(self, axis: Axis) -> Index:
        """The coordinate of every PE along an axis, to be broadcast."""
        return own_coordinate(axis) if axis not in self.alike else np.zeros((1,) * (len(LEVELS) + 1), np.int32)

    @cached_property
    def _moved(self) -> int:
        """Bits of the place in which some wanted word differs from where it is wanted."""
        return int(np.bitwise_or.reduce(np.where(self.wanted, self.way, 0), axis=None))

    @cached_property
    def count(self) -> int:
        """Wanted words of all PEs."""
        return int(np.count_nonzero(self.wanted))

    def by_distance(self) -> list["Need"]:
        """The wanted words that stay in their PE, in their MAB, L1B, L2B, and the others: those that there are."""
        way, left, kept = self.way, self.wanted, 0
        result = []
        for axis in (None, *reversed(LEVELS)):
            kept |= 0 if axis is None else self.code.field(axis)
            here = left & (way & ~kept == 0)
            if here.any():
                result.append(replace(self, wanted=here))
                left = left & ~here
        return result

    def by_mabs(self) -> list["Need"]:
        """Words that stay in their MAB of another L1B or L2B, and the others: those that there are."""
        kept = self.wanted & (self.way & (self.code.field(Axis.MAB) | self.code.field(Axis.PE)) == 0)
        parts = kept, self.wanted & ~kept
        return [replace(self, wanted=own) for own in parts if own.any()]

    def copies(self) -> dict[int, int]:
        """Target long words that every PE takes from one and the same own long word: target -> source."""
        words = self.place & (self.code.field(Axis.ADDRESS) | self.code.field(Axis.W))
        lanes = np.arange(self.place.shape[-1], dtype=self.place.dtype) % 2
        whole = self.wanted & (self.way == 0) & (self.at(Axis.W) == lanes) & (words == words[0, 0, 0, 0])
        chosen = whole.reshape(-1, self.place.shape[-1]).all(axis=0)
        address = self.at(Axis.ADDRESS)[0, 0, 0, 0]
        pairs = (chosen[::2] & chosen[1::2] & (address[::2] == address[1::2])).nonzero()[0]
        return {int(a): int(address[2 * a]) for a in pairs}

    def without(self, longs: Iterable[int]) -> "Need":
        """The need of all other target long words."""
        wanted = self.wanted.copy()
        for long in longs:
            wanted[..., 2 * long : 2 * long + 2] = False
        return replace(self, wanted=wanted)

    def by_granules(self) -> "Need":
        """The same with the MAB in the upper bits of the address, as if all MABs had what any of them has."""
        code = PlaceCode(self.code.address_bits + self.code.field(Axis.MAB).bit_count())
        place = self.place.astype(np.int32 if code.field(Axis.L2B) < 1 << 31 else np.int64, copy=False)
        inner = place & (1 << self.code.shift(Axis.MAB)) - 1
        own = sum((self.code.get(place, axis) << code.shift(axis) for axis in (Axis.L2B, Axis.L1B)), inner)
        mab = self.code.get(place, Axis.MAB) << self.code.shift(Axis.MAB)
        alike = {axis: 0 if axis is Axis.MAB else bits for axis, bits in self.alike.items()}
        own = own | mab | self.own(Axis.MAB).astype(place.dtype) << code.shift(Axis.MAB)
        return Need(self.wanted, code, own, alike)

    def granules(self) -> Index:
        """The addresses of which `by_granules` wants some word, ascending."""
        size = self.code.field(Axis.ADDRESS) | self.code.field(Axis.MAB)
        first = self.code.shift(Axis.ADDRESS)
        wanted = np.zeros((size >> first) + 1, np.bool_)
        wanted[(self.place[self.wanted] & size) >> first] = True
        return np.flatnonzero(wanted)

    def blank(self, target: Layout) -> NDArray[np.bool_]:
        """Where an element of the target is that takes nothing of the source."""
        once = tuple(slice(1 if size == 1 else None) for size in self.wanted.shape)
        return (place(target)[once] >= 0) & ~self.wanted

    def keeps(self, axis: Axis) -> bool:
        """Whether every word stays within its own coordinate of `axis`."""
        return not self._moved & self.code.field(axis)

    @property
    def source_words(self) -> Index:
        """Word address within the source buffer."""
        return 2 * self.at(Axis.ADDRESS) + self.at(Axis.W)


def own_coordinate(axis: Axis) -> Index:
    """The coordinate of every PE along an axis, to be broadcast."""
    return np.arange(chip().axis_size[axis], dtype=np.int32).reshape(*(-1 if a is axis else 1 for a in LEVELS), 1)


def mapped(target: Layout, index_map: Index | None) -> Index:
    """Flat source element in every word of the target, -1 for none: the placement of the target, seen through the map
    from target elements to source elements (None: the same tensor)."""
    return _through(place(target), index_map)


def _through(held: Index, index_map: Index | None) -> Index:
    return held if index_map is None else np.append(np.asarray(index_map).reshape(-1), np.int32(-1))[held]


def analyse(source: Layout, target: Layout, index_map: Index | None, *, once: bool = False) -> Need:
    """`index_map[i]` is the flat source element of flat target element i, -1 for padding; None: the same tensor. With
    `once`, axes along which the target is replicated are looked at once, but for PEs."""
    alike = {
        axis: chip().axis_size[axis] - 1 & ~source.replicated_bits(axis)
        for axis in LEVELS
        if once and axis is not Axis.PE and target.replicated_bits(axis) == chip().axis_size[axis] - 1
    }
    flat = _through(place(target)[tuple(slice(1 if axis in alike else None) for axis in LEVELS)], index_map)
    code, places = place_codes(source)
    kept = [axis for axis in LEVELS if axis not in alike]
    own = {axis: (own_coordinate(axis) & source.replicated_bits(axis)).astype(places.dtype) for axis in kept}
    nearest = sum((coordinates << code.shift(axis) for axis, coordinates in own.items()), np.zeros((), places.dtype))
    if source.replicated_bits(Axis.W):
        nearest = nearest | np.arange(flat.shape[-1], dtype=places.dtype) & 1
    return Need(flat >= 0, code, places[flat] | nearest, alike)


def filled_addresses(target: Layout, index_map: Index | None, wanted: NDArray[np.bool_]) -> list[int]:
    """Long words of the target that a movement writes: with a map those that hold some wanted word (`wanted` is
    [..., words]), as what holds none is filled afterwards."""
    longs = addresses_in_use(target)
    if index_map is None:
        return longs
    some = np.any(np.any(wanted.reshape(-1, wanted.shape[-1]), axis=0).reshape(-1, 2), axis=1)
    return [a for a in longs if some[a]]


def distinct(layout: Layout, axis: Axis) -> list[int]:
    """Coordinates of an axis that hold different data: one representative per set of replicas."""
    return [i for i in range(chip().axis_size[axis]) if i & layout.replicated_bits(axis) == 0]


def uniform(values: Index) -> NDArray[np.bool_]:
    """Per trailing index: whether all PEs agree. `values` is [L2B, L1B, MAB, PE, n]."""
    flat = values.reshape(int(np.prod(values.shape[:-1])), -1)
    return (flat == flat[0]).all(axis=0)
