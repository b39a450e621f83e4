"""Layouts of reshaped tensors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.layout import Axis, LayoutError, equivalent, parse, reshape
from mnc.mncore_backend.placement.candidates.reshapes import reshaped

ABOVE_PES = (Axis.L2B, Axis.L1B, Axis.MAB)


def test_dimensions_that_the_reshape_leaves_alone_keep_their_places() -> None:
    rows, columns = "(8_L2B:1, 4:2)", "(16_MAB:1, 2:1)"
    layout = parse(f"((), (5:8, 4_PE:1, 2_W:1), {rows}, {columns})", (1, 34, 28, 28))
    result = reshaped(layout, (1, 2, 17, 28, 28))
    assert [str(d) for d in result.dims[3]] == ["8_L2B:1", "4:2"]
    assert [str(d) for d in result.dims[4]] == ["16_MAB:1", "2:1"]
    assert [d.axis for d in result.dims[2]] == [Axis.ADDRESS, Axis.PE, Axis.W]


def test_a_reshape_that_moves_nothing_is_taken() -> None:
    layout = parse("((4_L1B:1, 2:1, 4_PE:1, 2_W:1), (8_L2B:1,))", (64, 8))
    assert equivalent(reshaped(layout, (4, 16, 8)), reshape(layout, (4, 16, 8)))


@pytest.mark.parametrize("shape", [(1, 56), (56, 1), (1, 1, 56), (1, 56, 1)])
def test_padding_may_stay_where_only_ones_are_outside(shape: tuple[int, ...]) -> None:
    layout = parse("((8_L2B:1, 8_L1B:1),)", (56,))
    there = reshape(layout, shape)
    assert equivalent(reshape(there, (56,)), layout)


def test_padding_inside_other_elements_stands_in_the_way() -> None:
    layout = parse("((2:4,), (4:1, 4_PE:1, 2_W:1))", (2, 28))
    with pytest.raises(LayoutError):
        reshape(layout, (56,))


@given(st.integers(1, 6), st.integers(1, 40), st.integers(1, 20), st.sampled_from(["", "8_L1B:1, ", "4_MAB:4, "]))
def test_no_other_coordinates_are_used(groups: int, channels: int, rows: int, hardware: str) -> None:
    """What has to move stays as low in the chip as it was; that all elements have a place the layout itself checks."""
    count = groups * channels
    places = {"": 1, "8_L1B:1, ": 8, "4_MAB:4, ": 4}[hardware]
    height = -(-rows // 8)
    address = -(-count // (places * 8))
    text = f"(({hardware}{address}:{height}, 4_PE:1, 2_W:1), (8_L2B:1, {height}:1))"
    layout = parse(text, (count, rows))
    result = reshaped(layout, (groups, channels, rows))
    for axis in ABOVE_PES:
        assert result.selected_bits(axis) & ~layout.selected_bits(axis) == 0
