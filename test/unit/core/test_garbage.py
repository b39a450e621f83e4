"""Thresholds of the garbage collector during passes."""

import gc
from collections.abc import Iterator

import pytest

from mnc.core.garbage import THRESHOLDS, rare_collection


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
