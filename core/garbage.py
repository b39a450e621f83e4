"""Fewer searches for cyclic garbage while hundreds of thousands of objects are made that all stay in use."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 100)
"""New objects before the youngest generation is searched, and searches of a generation before the next older one; at
Python's own thresholds these searches took a third of the time of the scheduler."""

_lock = threading.Lock()
_inside = 0
_before: tuple[int, int, int] = gc.get_threshold()


@contextmanager
def rare_collection() -> Iterator[None]:
    """Search for garbage rarely inside. Thresholds belong to the process: the last of several to leave restores them.
    A user who collects even more rarely, or not at all, is left alone."""
    global _inside, _before
    with _lock:
        _inside += 1
        if _inside == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < THRESHOLDS[0]:
                gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                gc.set_threshold(*_before)


@contextmanager
def no_collection() -> Iterator[None]:
    """No search for garbage inside, where many objects are made, hardly any of them is garbage, and none of it lies in
    cycles. Whatever is still there at the end is searched: as a decorator it ends when the function's own objects are
    gone."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
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
