"""Ctrl-C during a step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruption_waits() -> Iterator[None]:
    """Ctrl-C takes effect when the block is over, so that no step is left half done; a second one does not wait.

    Python delivers signals to the main thread only; elsewhere nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []

    def note(number: int, _frame: Any) -> None:
        if pending:
            raise KeyboardInterrupt
        pending.append(number)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if pending:
        raise KeyboardInterrupt
