"""Where the cache is, how large it may become, and whether it is in use: all from the environment.

    MNC_CACHE_DIR    its directory; else mnc in XDG_CACHE_HOME, else ~/.cache/mnc
    MNC_CACHE_LIMIT  most bytes it may hold, with K, M or G for powers of 1024; default 5G
    MNC_NO_CACHE     anything but an empty text: neither read nor written
"""

import os
from pathlib import Path

from mnc.core.diagnostics import CompileError

DEFAULT_LIMIT = 5 << 30
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def is_enabled() -> bool:
    """Whether compilations look into the cache."""
    return not os.environ.get("MNC_NO_CACHE")


def directory() -> Path | None:
    """The directory of the cache; it need not exist. None where there is neither a setting nor a home."""
    if named := os.environ.get("MNC_CACHE_DIR"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # others are to be ignored, says the XDG Base Directory Specification
        return Path(base) / "mnc"
    try:
        return Path.home() / ".cache" / "mnc"
    except RuntimeError:
        return None


def limit() -> int:
    """Most bytes of all entries together.

    Raises:
        CompileError: the setting is no size.
    """
    text = os.environ.get("MNC_CACHE_LIMIT", "").strip()
    return parse_size(text) if text else DEFAULT_LIMIT


def parse_size(text: str) -> int:
    """``500M`` to bytes; raises CompileError."""
    digits = text.rstrip("KMGTkmgtBbi ")
    unit = text[len(digits) :].strip().upper().removesuffix("B").removesuffix("I")
    if not digits.isdecimal() or unit not in _UNITS:
        raise CompileError(f"'{text}' is no size of a cache", hint="write bytes, or 500M, or 5G")
    return int(digits) << _UNITS[unit]


def format_size(size: int) -> str:
    """Bytes for people."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.1f} {unit}"
    return f"{size} bytes"
