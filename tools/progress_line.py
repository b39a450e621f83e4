"""One line of progress on a terminal: stage, pass, node, and the seconds so far."""

import time
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TextColumn

from mnc.core.diagnostics import one_line
from mnc.core.events import BAR, Event

_ORDER = ("case", "stage", "pass", "node")
"""From the whole to its parts; what begins ends all parts of what was before."""
_LONGEST = 40
_LEAST_PAUSE = 0.05
"""Seconds between two changes of the line."""


class ProgressLine:
    """Listens to events and shows the last of every kind. It starts no thread: a process with threads cannot share its
    work with a copy of itself (`mnc.core.both`)."""

    def __init__(self, command: str, delay: float, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._command = command
        self._begin = time.perf_counter()
        self._delay = delay
        self._current: dict[str, str] = {}
        self._changed = 0.0
        self._progress: Progress | None = None
        self._task: Any = None
        self._over = False

    def __call__(self, event: Event) -> None:
        if event.kind == BAR:
            self._over = True
            self.stop()
        if self._over or event.kind not in _ORDER:
            return
        place = _ORDER.index(event.kind)
        self._current = {kind: name for kind, name in self._current.items() if _ORDER.index(kind) < place}
        if event.seconds is None:
            self._current[event.kind] = event.name
        if not self._current:  # the command may print now
            self.stop()
            return
        now = time.perf_counter()
        if now - self._begin >= self._delay and now - self._changed >= _LEAST_PAUSE:
            self._changed = now
            self._show()

    @property
    def text(self) -> str:
        """``compile: machine · schedule · conv1``."""
        parts = [_shortened(self._current[kind]) for kind in _ORDER if kind in self._current]
        return f"{self._command}: {' · '.join(parts)}" if parts else self._command

    def _show(self) -> None:
        if self._progress is None:
            column = TextColumn("{task.description} [progress.elapsed]{task.fields[elapsed]}")
            self._progress = Progress(column, console=self._console, transient=True, auto_refresh=False)
            self._task = self._progress.add_task("", total=None, elapsed="")
            self._progress.start()
        elapsed = str(timedelta(seconds=int(time.perf_counter() - self._begin)))  # of the command, not of this line
        self._progress.update(self._task, description=escape(one_line(self.text)), elapsed=elapsed, refresh=True)

    def stop(self) -> None:
        """Remove the line; the next event brings it back."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
