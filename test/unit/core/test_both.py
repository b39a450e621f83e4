"""Work in a second process gives what it gives in this one, whatever happens to the process."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from mnc.core import both as module
from mnc.core.both import MOST_ITEMS, both, share_out


@pytest.fixture(params=[True, False], ids=["forked", "serial"])
def _mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(module, "has_processor", lambda: request.param)
    return request.param


def test_results_and_places(_mode: bool) -> None:
    here, there = both(os.getpid, os.getpid)
    assert here == os.getpid()
    assert (there != here) == _mode


@pytest.mark.usefixtures("_mode")
def test_results_larger_than_a_pipe_holds() -> None:
    assert both(lambda: 1, lambda: list(range(100_000))) == (1, list(range(100_000)))


def _fails() -> int:
    raise KeyError("of this work")


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("work", [(_fails, int), (int, _fails)])
def test_errors_are_those_of_the_work(work: tuple[Callable[[], int], Callable[[], int]]) -> None:
    with pytest.raises(KeyError, match="of this work"):
        both(*work)


def test_a_process_that_dies_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "has_processor", lambda: True)
    original = os.getpid()

    def dies() -> str:
        if os.getpid() != original:
            os.kill(os.getpid(), signal.SIGKILL)
        return "done"

    assert both(int, dies) == (0, "done")


def test_no_process_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have processes of their own, such as the tracker that `multiprocessing` starts: only this counts."""
    started: list[int] = []
    fork = os.fork

    def noted() -> int:
        started.append(fork())
        return started[-1]

    monkeypatch.setattr(module, "has_processor", lambda: True)
    monkeypatch.setattr(os, "fork", noted)
    with pytest.raises(KeyError):
        both(_fails, lambda: signal.pause())
    assert len(started) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(started[0], os.WNOHANG)


def test_other_threads_keep_the_work_here() -> None:
    """A copy of a process has one thread, and the locks of the others as they were."""
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    other.start()
    try:
        assert both(os.getpid, os.getpid) == (os.getpid(), os.getpid())
    finally:
        release.set()
        other.join()


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("count", [0, 1, 5, MOST_ITEMS])
def test_every_item_comes_to_one(count: int) -> None:
    here, there = share_out(range(100, 100 + count), list)
    assert sorted([*here, *there]) == list(range(100, 100 + count))


def test_items_go_to_whoever_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is busy with its first item leaves the others to the other one."""
    monkeypatch.setattr(module, "has_processor", lambda: True)

    def work(items: Iterator[float]) -> int:
        return sum(1 for item in items if not time.sleep(item))

    assert sorted(share_out([2.0, *([0.0] * 9)], work)) == [1, 9]


def test_more_than_a_pipe_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="can be shared out"):
        share_out(range(MOST_ITEMS + 1), list)


def test_each_half_of_the_work_has_half_of_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    def nested() -> list[bool]:
        return [own != os.getpid() for own in both(os.getpid, os.getpid)[1:]]

    for processors, halves_again in ((2, False), (3, False), (4, True)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, most=processors: set(range(most)), raising=False)
        assert both(nested, nested) == ([halves_again], [halves_again])
        assert both(int, int) == (0, 0)
