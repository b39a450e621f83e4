"""Where reproducers are written."""

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_CHOSEN: ContextVar[str | None] = ContextVar("reproducer directory", default=None)


@contextlib.contextmanager
def recording_in(directory: str | None) -> Iterator[None]:
    """Within the block, reproducers go to `directory` if nobody says where; None: as before."""
    token = _CHOSEN.set(directory or _CHOSEN.get())
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def state_directory() -> Path:
    """Where reproducers go if nobody says where: as `recording_in` says, else ``MNC_REPRODUCER_DIR``, else ``mnc`` in
    ``XDG_STATE_HOME`` or ``~/.local/state``."""
    if chosen := _CHOSEN.get() or os.environ.get("MNC_REPRODUCER_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~/.local/state"))) / "mnc"
