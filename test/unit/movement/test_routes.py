"""Which units of L2BM are brought to PDM, and in which order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.movement.routes import in_demand, renumbered


def test_what_the_same_ones_take_lies_side_by_side() -> None:
    """Each of two L2Bs takes every other pair of the other one's units, and nobody the last pair."""
    taken = np.zeros((2, 2, 10), np.bool_)
    taken[0, 1, [0, 1, 4, 5]] = taken[1, 0, [2, 3, 6, 7]] = True
    brought = in_demand(taken, 2)
    assert brought == [0, 2, 1, 3]
    held, new = renumbered(taken, brought, 2)
    assert np.flatnonzero(held[0]).tolist() == [8, 9, 10, 11]  # behind the eight of the first L2B
    assert np.flatnonzero(held[1]).tolist() == [4, 5, 6, 7]
    assert new[[0, 1, 4, 5, 2, 3, 6, 7]].tolist() == list(range(8))


@given(st.integers(0, 99), st.sampled_from([1, 2, 4]))
def test_all_that_is_taken_is_brought_once(seed: int, run: int) -> None:
    taken = np.random.default_rng(seed).random((4, 3, 16)) < 0.1
    brought = in_demand(taken, run)
    held, new = renumbered(taken, brought, run)
    assert len(set(brought)) == len(brought)
    assert held.sum() == taken.sum()
    width = len(brought) * run
    for reader, holder, unit in np.argwhere(taken).tolist():
        assert held[reader, holder * width + new[unit]]
