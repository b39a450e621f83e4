"""What one part of a program leaves in local memory for another, as notes that `hand-over` follows."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.dialects.mncore.attributes import placed_type, placement_of
from mnc.dialects.mncore.trips import FIRST_ROW, RESERVED, TABLES, read_slice
from mnc.lowering.linalg_to_spmd.homes import HOMES
from mnc.lowering.linalg_to_spmd.keep_resident import NAME, VALUE
from mnc.mncore_backend.codegen.host_ir import Kept
from mnc.mncore_backend.layout import LayoutError, of_rows, row_longs


def note_homes(module: Any, attribute: str, kept: Sequence[Kept]) -> None:
    """Say on the function of a module where its results have to be (`attribute` is ``res_attrs``) or its arguments are
    (``arg_attrs``): in the buffers of the same names that another program keeps. What that has in rows of which each
    trip takes another is here as a whole, or some of the rows from ``mncore.first_row`` on.

    Raises CompileError where rows cannot be in one buffer.
    """
    with module.context, ir.Location.unknown():
        (function,) = (view.operation for view in module.body.operations)
        type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        types = type_.results if attribute == "res_attrs" else type_.inputs
        entries = []
        for own_type, entry in zip(types, map(ir.DictAttr, function.attributes[attribute]), strict=True):
            found = [own for own in kept if own.attributes[NAME] == entry[NAME]]
            homes = [ir.DictAttr.get(_home_of(own, own_type, entry)) for own in found]
            given = {item.name: item.attr for item in entry}
            entries.append(ir.DictAttr.get({**given, **({HOMES: ir.ArrayAttr.get(homes)} if homes else {})}))
        function.attributes[attribute] = ir.ArrayAttr.get(entries)


def _home_of(own: Kept, type_: Any, entry: Any) -> dict[str, Any]:
    """Where a tensor of a type is in what another program keeps."""
    part = read_slice(own.attributes)
    if part is None:
        return _home(own)
    row = placement_of(own.type).layout
    dim = part.row_dim(row.shape)
    try:
        layout = of_rows(row, dim, ir.RankedTensorType(type_).shape[dim])
    except LayoutError as error:
        raise CompileError(f"rows of {entry[NAME]} do not lie behind one another: {error}") from error
    first = ir.IntegerAttr(entry[FIRST_ROW]).value if FIRST_ROW in entry else 0
    return _home(own, placed_type(layout, own.type.element_type), first * row_longs(row))


def note_reserved(module: Any, kept: Sequence[Kept]) -> None:
    """Say on the function of a module which buffers another program keeps, whose places it has to leave to them: a
    program between both finds one where the other was, and puts the other one beside it."""
    with module.context, ir.Location.unknown():
        (function,) = (view.operation for view in module.body.operations)
        entries = [ir.DictAttr.get({**_home(e), NAME: e.attributes[NAME]}) for e in kept]
        function.attributes[RESERVED] = ir.ArrayAttr.get(entries)


def note_tables(module: Any, kept: Sequence[Kept]) -> None:
    """Say on the function of a module which constants another program expects in local memory."""
    with module.context, ir.Location.unknown():
        (function,) = (view.operation for view in module.body.operations)
        tables = [entry for entry in kept if VALUE in entry.attributes]
        own = [{**_home(e), NAME: e.attributes[NAME], VALUE: e.attributes[VALUE]} for e in tables]
        function.attributes[TABLES] = ir.ArrayAttr.get([ir.DictAttr.get(entry) for entry in own])


def _home(entry: Kept, type_: Any = None, longs: int = 0) -> dict[str, Any]:
    """The buffer of another program, or what begins so many long words behind, as a buffer of a type."""
    assert entry.buffer.memory is not None and entry.buffer.base is not None  # allocated
    base = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), entry.buffer.base + longs)
    kind = ir.TypeAttr.get(type_ or entry.type)
    return {"type": kind, "memory": ir.StringAttr.get(entry.buffer.memory.name), "base": base}
