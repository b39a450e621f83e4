"""Ctrl-C during a step, and the request to end that other programs send (SIGTERM)."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _is_main_thread() -> bool:
    """Python delivers signals to the main thread only; elsewhere nothing changes."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Within the block SIGTERM, as batch systems send it, does what Ctrl-C does."""
    if not _is_main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def interruption_waits() -> Iterator[None]:
    """Ctrl-C takes effect when the block is over, so that no step is left half done; a second one does not wait."""
    if not _is_main_thread():
        yield
        return
    pending: list[int] = []

    def note(number: int, _frame: Any) -> None:
        if pending:
            raise KeyboardInterrupt
        pending.append(number)

    asked = [signal.SIGINT, *([signal.SIGTERM] if signal.getsignal(signal.SIGTERM) is _interrupt else [])]
    previous = {number: signal.signal(number, note) for number in asked}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if pending:
        raise KeyboardInterrupt
