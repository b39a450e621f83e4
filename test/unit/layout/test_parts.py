"""Parts of a dimension: their own digits and fixed coordinates against the places in the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.layout import HARDWARE_AXES, Axis, Digit, Layout, layout_of, locate, part, strided_part

from .strategies import layouts

COORDINATES = tuple(axis for axis in HARDWARE_AXES)


def places(layout: Layout) -> dict[Axis, np.ndarray]:
    return {axis: values.astype(np.int64) for axis, values in locate(layout).items() if axis in COORDINATES}


@given(layouts(max_dims=1), st.data())
def test_a_part_is_where_the_whole_has_it(layout: Layout, data: st.DataObject) -> None:
    extent = layout.shape[0]
    start = data.draw(st.integers(0, extent - 1))
    step = data.draw(st.integers(1, 4))
    count = data.draw(st.integers(1, (extent - 1 - start) // step + 1))
    found = strided_part(layout.dims[0], start, count, step)
    whole, own = places(layout), places(layout_of((count,), [found]))
    for axis in COORDINATES:
        if axis in found.torn:
            continue
        fixed = sum(value for name, _, value in found.fixed if name is axis)
        mask = sum(bits for name, bits, _ in found.fixed if name is axis)
        taken = whole[axis][start : start + count * step : step]
        assert ((own[axis] | fixed) == taken).all()
        assert not (own[axis] & mask).any()


def test_halves() -> None:
    digits = (Digit(2), Digit(8, Axis.MAB, 2), Digit(4, Axis.PE), Digit(2, Axis.W))
    assert part(digits, 64, 64).digits == (Digit(8, Axis.MAB, 2), *digits[2:])
    quarter = part(digits, 96, 32)
    assert quarter.fixed == ((Axis.MAB, 8, 8),)
    assert quarter.digits == (Digit(4, Axis.MAB, 2), *digits[2:])


def test_what_starts_inside_a_block_is_torn() -> None:
    digits = (Digit(16, Axis.MAB), Digit(4, Axis.PE), Digit(2, Axis.W))
    assert part(digits, 1, 64).torn == {Axis.MAB, Axis.PE, Axis.W}
    assert part(digits, 4, 64).torn == {Axis.MAB, Axis.PE}
    assert part((Digit(4), Digit(7)), 3, 12).torn == frozenset()


def test_addresses_of_a_part_are_numbered_anew() -> None:
    """Two of three rows, and all of two columns: the second column is three long words behind the first."""
    rows, columns = part((Digit(3),), 1, 2), part((Digit(2, stride=3), Digit(4, Axis.PE)), 0, 8)
    found = layout_of((2, 8), [rows, columns])
    assert found.dims == ((Digit(2),), (Digit(2, stride=2), Digit(4, Axis.PE)))
