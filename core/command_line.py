"""What every command shares: errors without tracebacks, exit codes, reading and writing files."""

import atexit
import contextlib
import errno
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from mnc.core.diagnostics import CompileError, InternalError, exit_code_of, printable
from mnc.core.files import path_hint, replace_file
from mnc.core.garbage import end_with_command
from mnc.core.spelling import inside_command

STANDARD_STREAM = "-"
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
_NO_ROOM = frozenset([errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO])
"""Nothing of ours: the place where the output goes does not take it."""


@contextlib.contextmanager
def errors_to_exit_codes() -> Iterator[None]:
    """Print an error on stderr and exit: 2 for the user's mistake, 70 for ours; never a traceback. Our warnings are one
    line each, without the place in the source.

    With the environment variable MNC_TRACEBACK set, the traceback of our own mistakes is shown.
    """
    _open_closed_streams()
    _print_any_text()
    shown, output = warnings.formatwarning, sys.stdout
    warnings.formatwarning = _one_line
    try:
        with inside_command(), _written_out():
            yield
    except KeyboardInterrupt as interruption:
        leave_interrupted(interruption)
    except BrokenPipeError:
        _leave_without_reader()
    except SystemExit as leaving:
        # Click and rich end with 1, a failed check here; click has put another stream in the place of the output.
        if leaving.code == 1 and (sys.stdout is not output or isinstance(leaving.__context__, BrokenPipeError)):
            _leave_without_reader()
        raise
    except (CompileError, InternalError) as error:
        if isinstance(error, InternalError):
            _show_traceback()
        print(error.render(), file=sys.stderr)
        sys.exit(exit_code_of(error))
    except OSError as error:
        if error.errno not in _NO_ROOM:
            _leave_with_our_mistake(error)
        _discard_output()
        what = f"'{error.filename}'" if error.filename else "the output"
        print(CompileError(f"cannot write {what}: {error.strerror}").render(), file=sys.stderr)
        sys.exit(CompileError.exit_code)
    except Exception as error:
        _leave_with_our_mistake(error)
    finally:
        warnings.formatwarning = shown


def leave_interrupted(interruption: KeyboardInterrupt) -> NoReturn:
    """End as shells have it after Ctrl-C. Click, which sees it first inside of commands, would end with 1, which here
    says that a check failed."""
    print(str(interruption) or "interrupted", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _leave_without_reader() -> NoReturn:
    """The reader of our output went away, as `head` does; there is nobody left to tell. End as other programs do, by
    the signal that Python ignores."""
    _discard_output()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    sys.exit(128 + signal.SIGPIPE)  # where the signal is blocked


def run_and_leave(main: Callable[[], None]) -> None:
    """Run a command, then end the process without freeing its memory: Python would go through millions of objects of a
    large program one by one, which takes an eighth of the time that compiling it takes. What is registered for the end
    of the process is called before. Threads that still work are waited for in the usual way."""
    status: int | str | None = None
    end_with_command()
    try:
        main()
    except SystemExit as leaving:
        status = leaving.code
    if threading.active_count() > 1 or not (status is None or isinstance(status, int)):
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the shell
            stream.flush()
    os._exit(status or 0)


@contextlib.contextmanager
def _written_out() -> Iterator[None]:
    """Write out what is buffered, also where a command ends by `sys.exit`, while somebody can still say why that
    fails."""
    try:
        yield
    finally:
        ends = isinstance(sys.exc_info()[1], SystemExit | None)
        if ends and sys.stdout is not None:  # None: closed by the shell
            sys.stdout.flush()


def _leave_with_our_mistake(error: Exception) -> NoReturn:
    _show_traceback()
    print(InternalError(f"{type(error).__name__}: {error}").render(), file=sys.stderr)
    sys.exit(InternalError.exit_code)


def _open_closed_streams() -> None:
    """Where the shell has closed a standard stream, as some services do, Python has None in its place, and the next
    file that is opened gets its number: whatever native code prints would go there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _print_any_text() -> None:
    """Names of the user's model may not exist in the encoding of the terminal: they are escaped, as on stderr."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Python flushes standard output once more when it ends; that must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(message: Warning | str, *_where: object) -> str:
    return f"warning: {printable(str(message))}\n"


def _show_traceback() -> None:
    if os.environ.get("MNC_TRACEBACK"):
        traceback.print_exc()


def read_text(path: str) -> str:
    """Read a text file, or standard input for ``-``.

    Raises:
        CompileError: the file cannot be read or is not text.
    """
    return decoded(read_bytes(path), path)


def read_bytes(path: str) -> bytes:
    """Read a file, or standard input for ``-``; raises CompileError."""
    try:
        return sys.stdin.buffer.read() if path == STANDARD_STREAM else Path(path).read_bytes()
    except OSError as error:
        raise CompileError(f"cannot read '{path}': {error.strerror}", hint=path_hint(path)) from None


def decoded(data: bytes, path: str) -> str:
    """The text in `data`, which was read from `path`, without the mark that editors may set in front of it; raises
    CompileError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"'{path}' is not text: byte {error.start} is not UTF-8"
        raise CompileError(message, hint="save it as UTF-8; an ONNX file goes to mnc-translate --import-onnx") from None


def write_text(path: str, text: str | bytes) -> None:
    """Write text or bytes to a file in one step, so that no partial file is left; ``-`` is standard output.

    Raises:
        CompileError: the file cannot be written.
    """
    if path == STANDARD_STREAM:
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text)
        else:
            sys.stdout.write(text)
        return
    replace_file(path, text)
