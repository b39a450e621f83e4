"""Writing files: beside the old one and renamed, so that whatever happens the old one or the new one is there.

What a killed process leaves behind is removed when the next file is written there: a file in the making is locked, so a
temporary that nobody holds is left over.
"""

import contextlib
import difflib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mnc.core.diagnostics import CompileError

PROGRAM = "program.vsm"
"""Name of the assembly in a build directory."""
PARTIAL = ".mnc-partial-"
"""How the names of files and directories in the making begin."""


def cannot_write(path: Path | str, error: OSError, hint: str | None = None) -> CompileError:
    """The error for the user: which file, and why."""
    return CompileError(f"cannot write '{path}': {error.strerror or error}", hint=hint or "choose another place")


@contextlib.contextmanager
def no_empty_directories(path: Path) -> Iterator[None]:
    """Whatever goes wrong, directories on the way to `path`, itself included, that are made inside the block and stay
    empty go away again."""
    new = [directory for directory in (path, *path.parents) if not directory.exists()]
    try:
        yield
    except BaseException:
        for directory in new:
            with contextlib.suppress(OSError):  # not made yet, or not empty
                directory.rmdir()
        raise


def _lock(handle: int) -> bool:
    """Lock an open file or directory without waiting; False if another process holds it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # also on file systems without locks: nothing is known to be left over there
        return False
    return True


def _holds(handle: int, path: str) -> bool:
    """Lock a temporary that was just made. False if it is gone: whoever removes leftovers found it before the lock."""
    with contextlib.suppress(OSError):  # file systems without locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _new_file(directory: Path) -> tuple[int, str]:
    """Handle and path of a new temporary, locked."""
    while True:
        handle, path = tempfile.mkstemp(dir=directory, prefix=PARTIAL)
        if _holds(handle, path):
            return handle, path
        os.close(handle)


def _new_directory(parent: Path) -> tuple[int, str]:
    """Handle and path of a new temporary directory, locked."""
    while True:
        path = tempfile.mkdtemp(dir=parent, prefix=PARTIAL)
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            if _holds(handle, path):
                return handle, path
            os.close(handle)


def remove_leftovers(directory: Path) -> None:
    """Remove temporaries whose process has ended without it."""
    with contextlib.suppress(OSError):
        for path in directory.glob(f"{PARTIAL}*"):
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_RDONLY)
                try:
                    if _lock(handle):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                finally:
                    os.close(handle)


@contextlib.contextmanager
def whole_file(path: Path | str, hint: str | None = None) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of `path` at the end of the block; what stood there stays otherwise.

    Raises:
        CompileError: the file cannot be written; names it.
    """
    target, name = Path(path), None
    try:
        remove_leftovers(target.parent)
        handle, name = _new_file(target.parent)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
            os.fchmod(handle, 0o666 & ~_umask())
            os.replace(name, target)
            name = None
    except OSError as error:
        raise cannot_write(path, error, hint) from None
    finally:
        if name is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)


def replace_file(path: Path | str, content: str | bytes, hint: str | None = None) -> None:
    """Make a file of this content, text as UTF-8, as `whole_file` does. A device or a pipe takes it as it is. Names of
    files in a text that are no text themselves are escaped, as they are in messages.

    Raises:
        CompileError: the file cannot be written; names it.
    """
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    target = Path(path)
    if target.exists() and not target.is_file():
        try:
            target.write_bytes(data)
        except OSError as error:
            raise cannot_write(path, error, hint) from None
        return
    with whole_file(path, hint) as file:
        file.write(data)


@contextlib.contextmanager
def partial_directory(parent: Path) -> Iterator[Path]:
    """A directory in `parent` for files in the making, which is removed at the end of the block."""
    remove_leftovers(parent)
    handle, path = _new_directory(parent)
    try:
        yield Path(path)
    finally:
        os.close(handle)
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def sole_use(directory: Path, what: str) -> Iterator[None]:
    """Within the block no second process enters a block of this directory; `what` says who does.

    Raises:
        CompileError: another one is in it.
    """
    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another {what} writes into '{directory}'"
            raise CompileError(message, hint="wait for its end, or choose another directory with -o") from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def path_hint(path: str) -> str:
    """What to write where `path` cannot be read: the program of a build directory, or a file beside it with nearly the
    same name, if there is one."""
    if os.path.isfile(program := os.path.join(path, PROGRAM)):
        return f"its program is {program}"
    if os.path.isdir(path):
        return "give a file in it"
    directory, name = os.path.split(path)
    try:
        beside = os.listdir(directory or os.curdir)
    except OSError:
        beside = []
    close = difflib.get_close_matches(name, [other for other in beside if other != name], 1)
    return f"did you mean {os.path.join(directory, close[0])}?" if close else "check the path"
