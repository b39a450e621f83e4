"""The garbage collector during passes."""

import gc
import weakref

import pytest

from mnc.core import garbage
from mnc.core.garbage import no_collection, only_new_garbage


def test_the_last_to_leave_switches_on() -> None:
    """Two overlapping users, as in two threads: the first to come is the first to leave."""
    first, second = no_collection(), no_collection()
    first.__enter__()
    second.__enter__()
    assert not gc.isenabled()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_on_again_after_a_failure() -> None:
    with pytest.raises(ValueError), no_collection():
        raise ValueError
    assert gc.isenabled()


def test_what_the_user_has_switched_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("ends", [False, True])
def test_after_the_last_work_of_a_process_nobody_looks(ends: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_ends_with_command", ends)
    try:
        with no_collection(is_last=True):
            with no_collection():
                pass
            assert not gc.isenabled()
        assert gc.isenabled() != ends
        with no_collection():
            pass
        assert gc.isenabled() != ends
    finally:
        gc.enable()


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
