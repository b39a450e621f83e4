"""Reading files of arrays that may be anything, and what that can fail with."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, NotImplementedError, zipfile.BadZipFile,
    IndexError, zlib.error,
)  # fmt: skip
"""numpy and zipfile pass on whatever damaged bytes lead to."""


def open_npz(path: Path | str) -> Any:
    """The arrays of a .npz file, to be closed; raises what `UNREADABLE` lists."""
    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):  # numpy would take it for a pickle, and say how to load that
            raise ValueError("it is no .npz file, or its end is missing")
    return np.load(path, allow_pickle=False)
