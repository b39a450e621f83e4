"""Thresholds of the garbage collector during passes."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from mnc.core.garbage import THRESHOLDS, only_new_garbage, rare_collection


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_last_to_leave_restores() -> None:
    """Two overlapping users, as in two threads: the first to come is the first to leave."""
    first, second = rare_collection(), rare_collection()
    first.__enter__()
    second.__enter__()
    assert gc.get_threshold() == THRESHOLDS
    first.__exit__(None, None, None)
    assert gc.get_threshold() == THRESHOLDS
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


def test_restored_after_a_failure() -> None:
    with pytest.raises(ValueError), rare_collection():
        raise ValueError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (1_000_000, 10, 10)])
def test_rarer_thresholds_of_the_user_stay(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with rare_collection():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


class Node:
    """Something that can lie in a cycle, and can be watched."""

    def __init__(self) -> None:
        self.own = self


def test_only_what_is_new_is_collected() -> None:
    old = Node()
    before = weakref.ref(old)
    with only_new_garbage():
        frozen = gc.get_freeze_count()
        new = weakref.ref(Node())
        del old
        with only_new_garbage():
            assert gc.get_freeze_count() == frozen > 0, "inside of itself it sets nothing aside"
        gc.collect()
        assert new() is None and before() is not None
        assert gc.get_freeze_count() > 0
    assert not gc.get_freeze_count()
    gc.collect()
    assert before() is None
