"""The commands. From here on Ctrl-C ends them with one line, also while native modules load."""

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not into a module that loads: native code around it would end by a signal."""
    if _is_importing(frame):
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"interrupted\n")
        os._exit(_INTERRUPTED)
    raise KeyboardInterrupt


def install() -> None:
    """Take over Ctrl-C where Python's own handler or that of the start (`mnc_command`) has it; in other threads and
    programs nothing changes."""
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is signal.default_int_handler or getattr(before, "__module__", None) == "mnc_command":
            signal.signal(signal.SIGINT, _interrupt)
    except ValueError:  # not the main thread
        pass


install()
