"""Extents of results that a run finds, as a note on the module.

``mnc.run_time_extents = [{count = "y.rows", dimension = 0 : i64, output = "y"}]``: of the result ``y`` only the first
rows count, as many as the result ``y.rows`` says.
"""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.run_time_extents import RunTimeExtent

EXTENTS = "mnc.run_time_extents"
"""Attribute of the module."""


def note_extents(module: Any, extents: Sequence[RunTimeExtent]) -> None:
    """Write the extents, if there are any."""
    if not extents:
        return
    with module.context:
        entries = [
            ir.DictAttr.get({
                "output": ir.StringAttr.get(entry.output),
                "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), entry.dimension),
                "count": ir.StringAttr.get(entry.count),
            })
            for entry in extents
        ]  # fmt: skip
        module.operation.attributes[EXTENTS] = ir.ArrayAttr.get(entries)


def noted_extents(module: Any) -> tuple[RunTimeExtent, ...]:
    """Read them. Raises CompileError for a note of another form."""
    if EXTENTS not in module.operation.attributes:
        return ()
    noted = module.operation.attributes[EXTENTS]
    try:
        return tuple(_extent(ir.DictAttr(entry)) for entry in ir.ArrayAttr(noted))
    except (KeyError, ValueError):
        hint = 'write [{count = "y.rows", dimension = 0 : i64, output = "y"}]'
        raise error_at(module.operation, f"has the attribute {EXTENTS} = {str(noted)[:60]}", hint=hint) from None


def _extent(entry: Any) -> RunTimeExtent:
    output, count = (ir.StringAttr(entry[name]).value for name in ("output", "count"))
    return RunTimeExtent(output, ir.IntegerAttr(entry["dimension"]).value, count)
