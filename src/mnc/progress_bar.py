"""Bars of progress on standard error: on a terminal only, and never with -q."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import Progress, ProgressColumn

_HIDDEN: ContextVar[bool] = ContextVar("hidden", default=False)


@contextmanager
def without_bars() -> Iterator[None]:
    """No bar is shown inside the block."""
    token = _HIDDEN.set(True)
    try:
        yield
    finally:
        _HIDDEN.reset(token)


def progress_bar(*columns: ProgressColumn, transient: bool = False) -> Progress:
    """A bar to use as a context; a transient one is removed at its end. Rich draws it from a thread of its own: compile
    outside, because a process with threads does not share its work with a second one (`mnc.core.both`)."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=transient, disable=_HIDDEN.get() or not console.is_terminal)
