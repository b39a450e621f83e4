"""Boxes of elements against slices of arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.pricing.box import Box

EXTENTS = st.lists(st.integers(1, 6), min_size=1, max_size=3)


@given(EXTENTS, st.data())
def test_a_slice(shape: list[int], data: st.DataObject) -> None:
    slices = []
    for extent in shape:
        start = data.draw(st.integers(0, extent - 1))
        step = data.draw(st.integers(1, 3))
        slices.append(slice(start, data.draw(st.integers(start + 1, extent)), step))
    numbers = np.arange(np.prod(shape)).reshape(shape)
    taken = numbers[tuple(slices)]
    box = Box(tuple(own.start for own in slices), tuple(own.step for own in slices))
    assert (box.index_map(shape, taken.shape) == taken).all()


@given(EXTENTS, st.data())
def test_a_place_in_a_result(shape: list[int], data: st.DataObject) -> None:
    lows = [data.draw(st.integers(-2, 3)) for _ in shape]
    highs = [data.draw(st.integers(0, 3)) for _ in shape]
    result = [max(1, extent + low + high) for extent, low, high in zip(shape, lows, highs, strict=True)]
    wanted = np.full(result, -1)
    for index in np.ndindex(*shape):
        place = tuple(i + low for i, low in zip(index, lows, strict=True))
        if all(0 <= p < n for p, n in zip(place, result, strict=True)):
            wanted[place] = np.ravel_multi_index(index, shape)
    assert (Box.at(lows).index_map(shape, result) == wanted).all()
