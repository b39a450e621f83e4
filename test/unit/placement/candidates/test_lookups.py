"""Where elements that indices choose can be read at their addresses."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mnc.mncore_backend.layout import Axis, parse
from mnc.mncore_backend.placement.candidates import project
from mnc.mncore_backend.placement.candidates.lookups import around, choices, divided, in_parts, most
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES


@given(st.integers(1, 200), st.integers(8, 30_000), st.integers(1, 400))
def test_an_iteration_in_parts_reads_at_addresses(points: int, rows: int, columns: int) -> None:
    """Unless the share of a PE is too large, or so small that comparing is as good."""
    extents, chosen = (points, columns, rows), (2,)
    digits = in_parts(extents, [(2, 1), (0, 1)], chosen)
    table = project((rows, columns), digits, (2, 1))
    found = choices(digits, chosen, table)
    if found is None:
        part = [d for d in digits[2] if not d.axis.value and d.size > 1]
        assert table.local_size > most() or len(part) == 0 or part[0].size < 8
    else:
        (choice,) = found
        assert choice.dim == 2
        assert choice.places * choice.part >= rows


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("((16_MAB:1, 64:1),)", 64),
        ("((8_L1B:1, 16_MAB:1, 8:1),)", 8),
        ("((16_MAB:1, 4:1),)", None),  # to compare with four is as good
        ("((64:1, 16_MAB:1),)", None),  # neighbours are in different PEs
        ("((16_MAB:1, 32:1, 2_W:1),)", None),  # neighbours share a long word
    ],
)
def test_elements_are_read_where_a_pe_holds_neighbours(text: str, part: int | None) -> None:
    table = parse(text)
    found = choices(table.dims, (0,), table)
    assert (None if found is None else found[0].part) == part


@given(st.integers(1, 6), st.integers(2, 3000), st.integers(8, 30_000))
def test_parts_of_a_table_are_asked_for_parts_of_the_points(lines: int, points: int, rows: int) -> None:
    """All of these ways fit, and the dimension that indices choose from has places that no other has."""
    extents, accesses = (lines, points, rows), ((0, 2), (0, 1))
    for digits in divided(extents, accesses, 2, SPLIT_AXES, cyclic=False):
        whole = project(extents, digits, (0, 1, 2))
        assert project((lines, rows), digits, (0, 2)).local_size <= most()
        assert all(extent <= padded for extent, padded in zip(extents, whole.padded_shape, strict=True))
        inner = sum((d.size - 1) * d.stride for d in digits[2] if d.axis is Axis.MAB)
        assert (inner + 1).bit_count() == 1  # the innermost MABs
        assert all(d.axis is not Axis.W and d.axis is not Axis.PE for d in digits[2])


def test_points_take_the_places_that_hold_copies_of_a_table() -> None:
    table = parse("((2_L2B:4,), (16_MAB:1, 64:1))")
    digits = around((2, 700, 1024), table, (0, 2), cyclic=False)
    assert digits is not None
    points = project((2, 700), digits, (0, 1))
    assert str(points) == "((2_L2B:4,), (4_L2B:1, 8_L1B:1, 3:1, 4_PE:1, 2_W:1))"
    assert project((2, 1024), digits, (0, 2)) == table


def test_a_table_with_lanes_of_its_own_leaves_none() -> None:
    assert around((700, 64), parse("((8:1, 4_PE:1, 2_W:1),)"), (1,), cyclic=False) is None
