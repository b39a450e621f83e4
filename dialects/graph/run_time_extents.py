"""Extents of results that a run finds, as a note on the module.

``mnc.run_time_extents = [{count = "y.rows", dimension = 0 : i64, output = "y"}]``: of the result ``y`` only the first
rows count, as many as the result ``y.rows`` says.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mnc.core.bindings import ir
from mnc.core.run_time_extents import RunTimeExtent
from mnc.dialects.graph.module_notes import read_note, write_note

EXTENTS = "mnc.run_time_extents"
"""Attribute of the module."""


def note_extents(module: Any, extents: Sequence[RunTimeExtent]) -> None:
    """Write the extents, if there are any."""
    write_note(module, EXTENTS, [asdict(entry) for entry in extents])


def noted_extents(module: Any) -> tuple[RunTimeExtent, ...]:
    """Read them. Raises CompileError for a note of another form."""
    return read_note(module, EXTENTS, _extent, '[{count = "y.rows", dimension = 0 : i64, output = "y"}]')


def _extent(entry: Any) -> RunTimeExtent:
    output, count = (ir.StringAttr(entry[name]).value for name in ("output", "count"))
    return RunTimeExtent(output, ir.IntegerAttr(entry["dimension"]).value, count)
