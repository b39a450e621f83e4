"""Where what was computed once is kept, and whether it is: from the environment.

    MNC_CACHE_DIR    the directory; else mnc in XDG_CACHE_HOME, else ~/.cache/mnc
    MNC_NO_CACHE     anything but an empty text: neither read nor written
"""

import os
from pathlib import Path


def is_enabled() -> bool:
    """Whether the cache is read and written."""
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
