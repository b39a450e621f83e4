"""The one place that knows every pass: merges the tables of the folders and refuses duplicates."""

import importlib
from collections.abc import Mapping

from mnc.core.context import make_context
from mnc.core.pass_base import Pass
from mnc.core.pipeline import Pipeline
from mnc.core.pipeline_entries import load_pass

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


def pass_table() -> dict[str, str]:
    """Name -> import path of every pass of the project; imports no pass."""
    return merge_tables({folder: getattr(importlib.import_module(folder), "PASSES", {}) for folder in _FOLDERS})


def pass_class(name: str) -> type[Pass]:
    """Import the class of the pass `name`; raises KeyError if there is none."""
    return load_pass(pass_table()[name])


def parse_pipeline(text: str) -> Pipeline:
    """Read pipeline text that may mix our passes with upstream ones, see `Pipeline.parse`."""
    return Pipeline.parse(text, pass_table())


__all__ = ["make_context", "merge_tables", "parse_pipeline", "pass_class", "pass_table"]
