"""No searches for cyclic garbage while hundreds of thousands of objects are made that all stay in use."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_enabled = True
_ends_with_command = False


def end_with_command() -> None:
    """Say that this process runs a single command, and ends without freeing what that has made."""
    global _ends_with_command
    _ends_with_command = True


@contextmanager
def no_collection(*, is_last: bool = False) -> Iterator[None]:
    """No search for garbage inside, where hundreds of thousands of objects are made, hardly any of them is garbage, and
    next to none of it lies in cycles: Python's own searches took a third of the time of the scheduler. The collector
    belongs to the process: the last of several to leave switches it on again, if it was on. What `is_last` is all that
    a command does: where the process ends with the command, nobody looks through what was made afterwards either."""
    global _inside, _was_enabled
    with _lock:
        _inside += 1
        if _inside == 1:
            _was_enabled = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _was_enabled and not (is_last and _ends_with_command):
                gc.enable()


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """Collections inside look at nothing that was made before: with a framework imported, a look at all of it takes
    a fifth of a second. Objects that somebody has set aside already stay so."""
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
