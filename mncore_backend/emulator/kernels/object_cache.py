"""Kernels that were compiled before, on disk: most programs need some 20, each of which takes 10 ms to compile.

The key is a digest of the text of the kernel, of the processor it was compiled for and of the compiler's version.
A file is a digest and an object file. It is used if it belongs to this user and nobody else can write it. Whatever
fails, the kernel is compiled.
"""

import contextlib
import hashlib
import os
import platform
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

from mnc.core import cache_directory

from .object_file import UnfitObject, load_function

KIND = "kernels"
_DIGEST_BYTES = 32
_CPU_FIELDS = ("vendor_id", "cpu family", "model", "stepping", "flags")
_COMPILERS = ("mlir", "torch_mlir")


@cache
def _system() -> bytes | None:
    """What compiled code depends on besides its text; None where it cannot be told, or where no code can be loaded."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    with contextlib.suppress(OSError):
        processor, *_ = Path("/proc/cpuinfo").read_text().split("\n\n")
        lines = [line for line in processor.splitlines() if line.partition("\t")[0] in _CPU_FIELDS]
        return "\n".join([*lines, *_compilers()]).encode()
    return None


def _compilers() -> list[str]:
    """Names of the directories that installers leave, which hold the versions."""
    names: set[str] = set()
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names |= {name for name in os.listdir(folder or ".") if name.startswith(_COMPILERS)}
    return sorted(names)


def place_of(text: str) -> Path | None:
    """The file of a kernel; it need not exist. None if nothing is cached."""
    directory = cache_directory.directory() if cache_directory.is_enabled() else None
    system = _system()
    if directory is None or system is None:
        return None
    key = hashlib.sha256(hashlib.sha256(system).digest() + text.encode()).hexdigest()
    return directory / KIND / key[:2] / f"{key}.entry"


def read(place: Path, name: str) -> int | None:
    """The address of the function `name`, or None if there is no file that can be used."""
    try:
        with place.open("rb") as file:
            state = os.fstat(file.fileno())
            if state.st_uid != os.getuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
            content = file.read()
        if hashlib.sha256(content[_DIGEST_BYTES:]).digest() != content[:_DIGEST_BYTES]:
            return None
        address = load_function(content[_DIGEST_BYTES:], name)
        os.utime(place)  # what was used longest ago goes first
    except (OSError, UnfitObject):
        return None
    return address


def write(place: Path, name: str, content: bytes) -> None:
    """Keep an object file, if it can be loaded."""
    with contextlib.suppress(OSError, UnfitObject):
        load_function(content, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=place.parent, prefix="partial-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(partial, place)
        except OSError:
            os.unlink(partial)
