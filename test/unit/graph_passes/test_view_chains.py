"""A chain of views is one of at most three, and moves every element where the chain does."""

from math import prod
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnc.passes.graph.tensors.slices_of_views import ranges_before_reshape
from mnc.passes.graph.tensors.view_chains import shortest_turn

EXTENTS = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)


def of_as_many(data: Any, size: int) -> tuple[int, ...]:
    """A shape of `size` elements."""
    shape = []
    while size > 1 and len(shape) < 4:
        shape.append(data.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0])))
        size //= shape[-1]
    return (*shape, size)


@given(st.data())
def test_the_turn_does_what_the_chain_does(data: Any) -> None:
    shape = tuple(data.draw(EXTENTS))
    x = wanted = np.arange(prod(shape)).reshape(shape)
    views: list[tuple[str, tuple[int, ...]]] = []
    for is_turn in data.draw(st.lists(st.booleans(), min_size=1, max_size=6)):
        if is_turn:
            views.append(("transpose", tuple(data.draw(st.permutations(range(wanted.ndim))))))
            wanted = wanted.transpose(views[-1][1])
        else:
            views.append(("reshape", of_as_many(data, wanted.size)))
            wanted = wanted.reshape(views[-1][1])
    found = shortest_turn(shape, views)
    if found is None:
        assert any(kind == "reshape" for kind, _ in views), "transpositions are always one"
        return
    turn, count = found
    made = x if turn.is_reshape else x.reshape(turn.shape).transpose(turn.permutation)
    assert np.array_equal(made.reshape(wanted.shape), wanted)
    assert count <= min(3, len(views)) or not turn.is_reshape
    assert count > 0 or (shape == wanted.shape and np.array_equal(x, wanted))


def test_heads_are_taken_apart_at_once() -> None:
    joined = ("reshape", (5, 12, 4)), ("transpose", (1, 0, 2))
    found = shortest_turn((5, 3, 16), [*joined, ("reshape", (3, 4, 5, 4)), ("transpose", (0, 1, 3, 2))])
    assert found is not None
    turn, count = found
    assert (turn.shape, turn.permutation, count) == ((5, 3, 4, 4), (1, 2, 3, 0), 2)


def test_dimensions_without_common_divisors_stay() -> None:
    assert shortest_turn((6, 4), [("transpose", (1, 0)), ("reshape", (3, 8))]) is None
    assert shortest_turn((0, 4), [("reshape", (4, 0))]) is None


@given(st.data())
def test_slices_before_reshapes_take_the_same(data: Any) -> None:
    shape = tuple(data.draw(EXTENTS))
    x = np.arange(prod(shape)).reshape(shape)
    y = x.reshape(of_as_many(data, x.size))
    ranges = []
    for extent in y.shape:
        start = data.draw(st.integers(0, extent - 1))
        stop, step = data.draw(st.integers(start + 1, extent)), data.draw(st.sampled_from([1, 1, 2]))
        ranges.append(data.draw(st.sampled_from([range(extent), range(start, stop, step)])))
    found = ranges_before_reshape(shape, y.shape, ranges)
    wanted = y[np.ix_(*ranges)]
    if found is not None:
        assert np.array_equal(x[np.ix_(*found)].reshape(wanted.shape), wanted)
    elif all(own == range(extent) for own, extent in zip(ranges, y.shape, strict=True)):
        raise AssertionError("everything is a slice")


def test_heads_of_a_part_of_the_features_are_a_slice() -> None:
    assert ranges_before_reshape((5, 48), (5, 3, 4, 4), [range(5), range(1, 2), range(4), range(4)]) == [
        range(5), range(16, 32),
    ]  # fmt: skip
    assert ranges_before_reshape((5, 48), (5, 3, 16), [range(5), range(3), range(8)]) is None
