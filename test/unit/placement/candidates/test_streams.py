"""Tiles of contractions: they cover the product once, fit local memory, and cost no more than their parts."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.placement.candidates import Contraction, Operand, plan_tiles, tile_ranges
from mnc.mncore_backend.placement.candidates.streams import room

EXTENTS = st.one_of(st.integers(1, 64), st.integers(65, 4096))


def product(m: int, n: int, k: int) -> Contraction:
    return Contraction((m, n, k), Operand((0, 2)), Operand((2, 1)), (0, 1))


@given(EXTENTS, EXTENTS, EXTENTS)
@settings(max_examples=15, deadline=None)
def test_random(m: int, n: int, k: int) -> None:
    problem = product(m, n, k)
    tile = plan_tiles(problem)
    assert tile is not None
    layouts = (tile.plan.left, tile.plan.right, tile.plan.result)
    assert sum(layout.local_size for layout in layouts) * min(2, tile.tiles) <= room()
    ranges = list(tile_ranges(problem, tile.extents, tile.order))
    assert len(ranges) == tile.tiles
    assert sum(prod(size for _, size in own) for own in ranges) == m * n * k
    assert len({tuple(start for start, _ in own) for own in ranges}) == len(ranges)
    overlapping = replace(tile.busy, mv=tile.busy.mv / 2)  # loads and stores pass each other
    assert overlapping.bound <= tile.steps


def test_sums_follow_each_other() -> None:
    """All tiles of one result come in a row: its sum is in use for as short as possible."""
    problem = product(64, 64, 64)
    results = [own[:2] for own in tile_ranges(problem, (32, 32, 16), (0, 1, 2))]
    assert results == [place for place in dict.fromkeys(results) for _ in range(4)]


@pytest.mark.parametrize("size", [2048, 4096])
def test_large_products_are_bound_by_the_matrix_unit(size: int) -> None:
    """The price of a large product is near the multiply-adds at their peak: 262,144 in a step."""
    tile = plan_tiles(product(size, size, size))
    assert tile is not None and tile.steps < 1.3 * size**3 / 262144
