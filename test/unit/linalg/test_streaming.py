"""Cutting the layout of a factor into parts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.lowering.linalg_to_spmd.streaming import elements_of, part_layout, parts_of
from mnc.mncore_backend.layout import Layout, parse, place


@given(layouts(max_address=12), st.integers(1, 16))
@settings(max_examples=20, deadline=None)
def test_parts_are_where_the_whole_is(layout: Layout, longs: int) -> None:
    """Every element is in exactly one part, in the PE where the whole has it."""
    if layout.size * len(layout.shape) > 1 << 18:
        return
    whole = place(layout)
    seen = np.zeros(layout.size, np.int64)
    for part in parts_of(layout, range(len(layout.shape)), longs):
        if not part:
            seen += 1
            continue
        inside = part_layout(layout, part)
        indices = [elements_of(layout, dim, part)[: inside.shape[dim]] for dim in range(len(layout.shape))]
        outside = np.zeros([len(i) for i in indices], bool)
        flat = np.zeros([len(i) for i in indices], np.int64)
        for dim, (index, extent) in enumerate(zip(indices, layout.shape, strict=True)):
            along = [-1 if d == dim else 1 for d in range(len(indices))]
            outside |= (index >= extent).reshape(along)
            flat = flat * extent + np.minimum(index, extent - 1).reshape(along)
        elements = np.append(np.where(outside, -1, flat).reshape(-1), -1)
        held = elements[place(inside)]
        seen[np.unique(held[held >= 0])] += 1
        for pe in ((0, 0, 0, 0), (7, 7, 15, 3), (1, 0, 2, 1)):
            assert set(held[pe][held[pe] >= 0]) <= set(whole[pe])
    assert (seen == 1).all()


def test_parts_have_the_size_asked_for() -> None:
    layout = parse("((64:72,), (8:9, 4_PE:1, 2_W:1), (3:3,), (3:1,))", (64, 64, 3, 3))
    parts = parts_of(layout, [1, 2, 3, 0], 576)
    assert len(parts) == 8 and {part_layout(layout, part).local_size for part in parts} == {576}
    small = parts_of(layout, [1, 2, 3, 0], 64)
    assert max(part_layout(layout, part).local_size for part in small) == 64 and len(small) == 72


def test_columns_of_a_matrix_stay_whole() -> None:
    layout = parse("((2:8, 8:1), (4_PE:1, 2_W:1))", (16, 8))
    assert {part_layout(layout, part).local_size for part in parts_of(layout, [0], 1, lanes=0)} == {8}
