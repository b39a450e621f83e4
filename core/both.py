"""Independent pieces of work on two processors: the second in a process of its own where that is possible."""

import gc
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from mnc.core import events

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
_TICKET = 2  # bytes
_depth = 0  # how often the work has been halved that this process has a part of at the moment
MOST_ITEMS = 2048
"""So many tickets fit into a pipe on every system; on some it holds no more than 4096 bytes."""


def both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """The results of two functions that have no effects. The second runs in a copy of this process (`os.fork`) while
    the first runs here, if there are two processors (`has_processor`) and no other threads, whose locks a copy might
    find closed forever; its result must survive pickling. Whatever goes wrong in the copy, it is called here again:
    results and errors do not depend on where it ran.
    """
    if not has_processor():
        return first(), second()
    receiving, sending = os.pipe()
    with _halved():
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


@contextmanager
def _halved() -> Iterator[None]:
    """Two processes work inside the block, and each has half of the processors."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def share_out(items: Sequence[T], work: Callable[[Iterator[T]], A]) -> tuple[A, A]:
    """`both` for one kind of work on many items: each item comes to one of the two calls of `work`, the next one to the
    call that asks first. Where there is one process only, the first call gets all. Raises ValueError for more items
    than a pipe holds."""
    if len(items) > MOST_ITEMS:
        raise ValueError(f"{len(items)} items; at most {MOST_ITEMS} can be shared out")
    receiving, sending = os.pipe()
    os.write(sending, b"".join(number.to_bytes(_TICKET) for number in range(len(items))))
    os.close(sending)

    def own() -> Iterator[T]:
        while ticket := os.read(receiving, _TICKET):
            yield items[int.from_bytes(ticket)]

    try:
        return both(lambda: work(own()), lambda: work(own()))
    finally:
        os.close(receiving)


def has_processor() -> bool:
    """Whether this process can be copied, and there is a processor for the copy beside those that are at work."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return hasattr(os, "fork") and usable >= 2 << _depth and threading.active_count() == 1


def _answer(work: Callable[[], Any], sending: int) -> None:
    """The life of the copy: it writes the pickled result and ends. Cleaning up is for the original, and so is garbage:
    a search for it would write to, and with that double, all memory that the two share."""
    status = 1
    gc.disable()
    events.silence()
    try:
        with os.fdopen(sending, "wb") as stream:
            pickle.dump(work(), stream, protocol=pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        os._exit(status)
