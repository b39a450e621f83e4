"""What the places of a movement agree on, where some of them want nothing."""

import numpy as np
import pytest

from mnc.mncore_backend.layout import Axis, parse
from mnc.mncore_backend.movement.agreement import agreed
from mnc.mncore_backend.movement.lanes import transpose

from .test_gather import check_gather


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_places_that_want_nothing_have_no_say(dtype: type) -> None:
    """Columns: all agree, one wants nothing, nobody wants anything, the wanted ones differ."""
    values = np.array([[3, 3, 1, 4], [3, 9, 2, 5], [3, 3, 3, 4]], dtype)
    wanted = np.array([[True, True, False, True], [True, False, False, True], [True, True, False, True]])
    found = agreed(values[:, :3], wanted[:, :3], (0,))
    assert found is not None and found.tolist() == [3, 3, -1]
    assert agreed(values, wanted, (0,)) is None


@pytest.mark.parametrize("axes", [(), (0,), (2,), (0, 1), (0, 2), (1, 3), (0, 1, 3)])
def test_agreement_along_any_axes(axes: tuple[int, ...]) -> None:
    """Outer and inner axes are combined in different ways; the result is what numpy says in one go."""
    rng = np.random.default_rng(1)
    wanted = rng.random((3, 2, 5, 2)) < 0.5
    extents = [1 if i in axes else n for i, n in enumerate(wanted.shape)]
    shared = np.broadcast_to(rng.integers(0, 9, extents), wanted.shape)
    found = agreed(np.where(wanted, shared, 7), wanted, axes)
    assert found is not None and np.array_equal(found, np.where(wanted, shared, -1).max(axis=axes))
    if axes:
        differing = shared.copy()
        differing[0, 0, 0, 0] += 1
        assert agreed(differing, np.ones_like(wanted), axes) is None


def test_a_transpose_of_padded_lanes() -> None:
    """Six of eight columns exist: the words that pad the lanes want nothing, and the transpose is found and right."""
    source, target = parse("((8:1,), (4_PE:1, 2_W:1))", (8, 6)), parse("((4_PE:1, 2_W:1), (6:1,))", (8, 6))
    index_map = np.arange(48)
    assert source.replicated_bits(Axis.MAB)
    assert transpose(source, target, index_map)
    check_gather(source, target, index_map, emulated=True)
    back = np.arange(48).reshape(8, 6)
    assert transpose(target, source, back)
    check_gather(target, source, back, emulated=True)
