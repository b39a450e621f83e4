"""What long work is doing: stages, passes, nodes. Whoever listens shows progress or writes a log; otherwise an event
costs next to nothing.

    with events.span("pass", "schedule"):
        ...
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """Something began, or ended.

    Attributes:
        kind: ``stage``, ``pass``, ``node``, ``case``, or what a command adds.
        name: of the stage, the pass, the node.
        seconds: how long it took, where it ended; None where it begins.
        fields: more, for logs.
    """

    kind: str
    name: str
    seconds: float | None = None
    fields: dict[str, Any] = field(default_factory=dict)


BAR = "bar"
"""The kind of event with which a command begins a bar of its own: the line of progress makes room for it."""
Listener = Callable[[Event], None]
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Give every event inside the block to `listener`."""
    _listeners.append(listener)
    try:
        yield
    finally:
        if listener in _listeners:
            _listeners.remove(listener)


def silence() -> None:
    """Forget all listeners: a copy of this process must not write where the original does."""
    _listeners.clear()


def emit(kind: str, name: str, seconds: float | None = None, **fields: Any) -> None:
    """Tell all listeners."""
    if _listeners:
        event = Event(kind, name, seconds, fields)
        for listener in tuple(_listeners):
            listener(event)


@contextmanager
def span(kind: str, name: str, **fields: Any) -> Iterator[None]:
    """Tell all listeners of the beginning, and of the end unless the block raises."""
    if not _listeners:
        yield
        return
    emit(kind, name, **fields)
    start = time.perf_counter()
    yield
    emit(kind, name, time.perf_counter() - start, **fields)
