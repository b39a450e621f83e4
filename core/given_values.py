"""What Python callers hand over besides models and arrays: paths, and choices between yes and no.

A command line refuses such mistakes by itself; from Python anything may come.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from mnc.core.diagnostics import CompileError


def given_path(value: Any, what: str) -> Path:
    """A path, from text or what stands for it.

    Args:
        what: what it is the path of, such as "directory".

    Raises:
        CompileError: it is something else, an empty text, which would be the current directory, or has a null byte.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str):
        raise CompileError(f"the {what} is a value of type {type(value).__name__}", hint="give a path")
    if not text:
        hint = "name a place, such as '.' for the current directory"
        raise CompileError(f"the {what} is an empty text", hint=hint)
    if "\0" in text:
        raise CompileError(f"the {what} is {text!r}, and no path has a null byte", hint="give a path")
    return Path(value)


def optional_path(value: Any, what: str) -> Path | None:
    """As `given_path`; None stays None. Raises CompileError."""
    return None if value is None else given_path(value, what)


def check_flag(value: Any, what: str) -> None:
    """Raise CompileError unless `value`, of the argument `what`, is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise CompileError(f"{what} is a value of type {type(value).__name__}", hint="give True or False")


__all__ = ["check_flag", "given_path", "optional_path"]
