"""Rows of a tensor one behind the other: each is where a row by itself is, so many long words further."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.layout import Axis, Digit, Layout, LayoutError, of_rows, row_longs, without_spare_places

ROW = Layout((1, 24), ((), (Digit(3, Axis.ADDRESS, 1), Digit(4, Axis.PE, 1), Digit(2, Axis.W, 1))))
SPARE = Layout((1, 8), ((Digit(4, Axis.MAB, 4),), (Digit(4, Axis.PE, 1), Digit(2, Axis.W, 1))))


@given(st.integers(1, 9), st.integers(0, 23), st.sampled_from([ROW, SPARE]))
def test_a_row_is_where_one_by_itself_is(rows: int, element: int, row: Layout) -> None:
    whole, column = of_rows(row, 0, rows), element % row.shape[1]
    for number in range(rows):
        alone, own = row.coordinates((0, column)), whole.coordinates((number, column))
        assert own.pop(Axis.ADDRESS) == alone.pop(Axis.ADDRESS) + number * row_longs(row)
        assert own == alone


def test_rows_begin_where_two_long_words_may_be_read() -> None:
    assert row_longs(ROW) == 6
    assert row_longs(SPARE) == 2


def test_more_than_one_index_is_no_row() -> None:
    with pytest.raises(LayoutError, match="no single index"):
        of_rows(Layout((2, 8), ((Digit(2),), (Digit(4, Axis.PE), Digit(2, Axis.W)))), 0, 5)


def test_spare_places_become_copies() -> None:
    assert str(without_spare_places(SPARE, 0)) == "((), (4_PE:1, 2_W:1))"
    assert without_spare_places(ROW, 0) == ROW
