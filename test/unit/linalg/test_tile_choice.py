"""The tile choice: what it gives fits, divides as asked, and moves less than the naive choice."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.passes.linalg.tile_choice import DoesNotFit, Nest, TiledOperand, choose_tile


def contraction(m: int, n: int, k: int) -> Nest:
    """Loops (m, n, k) over f32 matrices."""
    index = [((0, 1),), ((1, 1),), ((2, 1),)]
    operands = ((index[0], index[2]), (index[2], index[1]), (index[0], index[1]))
    return Nest((m, n, k), tuple(TiledOperand(tuple(indices), 4) for indices in operands))


EXTENT = st.integers(1, 300)


@given(m=EXTENT, n=EXTENT, k=EXTENT, capacity=st.integers(64, 100_000), step=st.sampled_from([1, 4, 8]),
       buffers=st.integers(1, 2))  # fmt: skip
def test_fits_and_is_aligned(m: int, n: int, k: int, capacity: int, step: int, buffers: int) -> None:
    nest = contraction(m, n, k)
    try:
        tile = choose_tile(nest, capacity, buffers, [step] * 3)
    except DoesNotFit as error:
        smallest = tuple(min(step, extent) for extent in nest.extents)
        assert error.needed == nest.footprint(smallest) * buffers > capacity // buffers * buffers
        return
    assert nest.footprint(tile) * buffers <= capacity
    for size, extent in zip(tile, nest.extents, strict=True):
        assert 1 <= size <= extent
        assert size == extent or size % step == 0


def test_whole_nest_when_it_fits() -> None:
    assert choose_tile(contraction(8, 8, 8), 3 * 64 * 4) == (8, 8, 8)


def test_is_close_to_the_best_of_all_tiles() -> None:
    nest = contraction(64, 48, 40)
    sizes = [[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, extent] for extent in nest.extents]
    for capacity in (256, 1024, 4096, 16384):
        fitting = [tile for tile in itertools.product(*sizes) if nest.footprint(tile) <= capacity]
        best = min(nest.traffic(tile) for tile in fitting)
        assert nest.traffic(choose_tile(nest, capacity)) <= 1.25 * best


def test_window_footprint_counts_the_overlap() -> None:
    window = TiledOperand((((0, 2), (1, 1)),), 4)
    assert window.footprint((4, 3)) == 4 * (1 + 2 * 3 + 2)


def test_too_small_memory_says_what_is_needed() -> None:
    with pytest.raises(DoesNotFit, match="12 bytes"):
        choose_tile(contraction(5, 5, 5), 8)
