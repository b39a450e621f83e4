"""Where elements that indices choose can be read at their addresses."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.placement.candidates import project
from mnc.mncore_backend.placement.candidates.lookups import choices, in_parts, most


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
