"""Two independent pieces of work, the second in a process of its own where that is possible."""

import gc
import os
import pickle
import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


def both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """The results of two functions that have no effects. The second runs in a copy of this process (`os.fork`) while
    the first runs here, if there are two processors and no other threads, whose locks a copy might find closed forever;
    its result must survive pickling. Whatever goes wrong in the copy, it is called here again: results and errors do
    not depend on where it ran.
    """
    if not _may_fork():
        return first(), second()
    receiving, sending = os.pipe()
    child = os.fork()
    if not child:
        os.close(receiving)
        _answer(second, sending)
    os.close(sending)
    try:
        with os.fdopen(receiving, "rb") as stream:
            result = first()
            answer = stream.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    return result, pickle.loads(answer) if status == 0 else second()


def _may_fork() -> bool:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return hasattr(os, "fork") and usable > 1 and threading.active_count() == 1


def _answer(work: Callable[[], Any], sending: int) -> None:
    """The life of the copy: it writes the pickled result and ends. Cleaning up is for the original, and so is garbage:
    a search for it would write to, and with that double, all memory that the two share."""
    status = 1
    gc.disable()
    try:
        with os.fdopen(sending, "wb") as stream:
            pickle.dump(work(), stream, protocol=pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        os._exit(status)
