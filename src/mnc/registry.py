"""The one place that knows every pass: merges the tables of the folders, takes those of users, refuses duplicates."""

import importlib
import re
from collections.abc import Mapping
from typing import TypeVar

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.pass_base import Pass
from mnc.core.pipeline import Pipeline
from mnc.core.pipeline_entries import is_upstream, load_pass

PassT = TypeVar("PassT", bound=Pass)
_FOLDERS = ("mnc.passes", "mnc.lowering", "mnc.mncore_backend")


def merge_tables(tables: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Merge folder -> (pass name -> import path) into one table.

    Raises:
        ValueError: two folders register the same name.
    """
    owner: dict[str, str] = {}
    merged: dict[str, str] = {}
    for folder, table in tables.items():
        for name, path in table.items():
            if name in merged:
                raise ValueError(f"pass '{name}' is registered by {owner[name]} and by {folder}")
            merged[name], owner[name] = path, folder
    return merged


_registered: dict[str, str] = {}


def pass_table() -> dict[str, str]:
    """Name -> import path of every pass of the project, and of those that were registered; imports no pass."""
    own = {folder: getattr(importlib.import_module(folder), "PASSES", {}) for folder in _FOLDERS}
    return merge_tables({**own, "mnc.register_pass": _registered})


def register_pass(own: type[PassT]) -> type[PassT]:
    """Make a pass of one's own known by its name, to pipeline text in Python and to `mnc-opt`; returns the class, so
    that it serves as a decorator. A file of such passes is given to `mnc-opt` by ``--load-pass-plugin``.

    Args:
        own: a frozen dataclass derived from `mnc.Pass`, at the top of a module. One that is registered again, as when
            its file is read anew, replaces the one before.

    Raises:
        CompileError: it is no such class, or its name is none or that of another pass.
    """
    if not (isinstance(own, type) and issubclass(own, Pass)):
        raise CompileError(f"{own!r} is no pass", hint="register a class derived from mnc.Pass")
    if not isinstance(own.name, str) or not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", own.name):
        raise CompileError(f"the pass {own.__name__} has the name '{own.name}'", hint="write name = 'do-something'")
    path = f"{own.__module__}:{own.__qualname__}"
    if "<locals>" in path:
        message = f"the pass {own.__name__} is defined inside of a function"
        raise CompileError(message, hint="define it at the top of its module")
    known = pass_table().get(own.name, "one of MLIR" if is_upstream(own.name) else path)
    if known != path:
        raise CompileError(f"there is a pass '{own.name}' already: {known}", hint="give yours another name")
    _registered[own.name] = path
    return own


def pass_class(name: str) -> type[Pass]:
    """Import the class of the pass `name`; raises KeyError if there is none."""
    return load_pass(pass_table()[name])


def parse_pipeline(text: str) -> Pipeline:
    """Read pipeline text that may mix our passes with upstream ones, see `Pipeline.parse`."""
    return Pipeline.parse(text, pass_table())


__all__ = ["make_context", "merge_tables", "parse_pipeline", "pass_class", "pass_table", "register_pass"]
