"""Where the cache is, how large it may become, and whether it is in use: all from the environment.

    MNC_CACHE_DIR    its directory; else mnc in XDG_CACHE_HOME, else ~/.cache/mnc
    MNC_CACHE_LIMIT  most bytes it may hold, with K, M or G for powers of 1024; default 5G
    MNC_NO_CACHE     anything but an empty text: neither read nor written
"""

import os

from mnc.core.cache_directory import directory, is_enabled
from mnc.core.diagnostics import CompileError

__all__ = ["DEFAULT_LIMIT", "directory", "format_size", "is_enabled", "limit", "parse_size"]

DEFAULT_LIMIT = 5 << 30
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


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
