"""What one part of a program leaves in local memory for another, as notes that `hand-over` follows."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.mncore.trips import RESERVED, TABLES
from mnc.lowering.linalg_to_spmd.homes import HOMES
from mnc.lowering.linalg_to_spmd.keep_resident import NAME, VALUE
from mnc.mncore_backend.codegen.host_ir import Kept


def note_homes(module: Any, attribute: str, kept: Sequence[Kept]) -> None:
    """Say on the function of a module where its results have to be (`attribute` is ``res_attrs``) or its arguments are
    (``arg_attrs``): in the buffers of the same names that another program keeps."""
    with module.context, ir.Location.unknown():
        (function,) = (view.operation for view in module.body.operations)
        entries = []
        for entry in map(ir.DictAttr, function.attributes[attribute]):
            homes = [ir.DictAttr.get(_home(own)) for own in kept if own.attributes[NAME] == entry[NAME]]
            given = {item.name: item.attr for item in entry}
            entries.append(ir.DictAttr.get({**given, **({HOMES: ir.ArrayAttr.get(homes)} if homes else {})}))
        function.attributes[attribute] = ir.ArrayAttr.get(entries)


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


def _home(entry: Kept) -> dict[str, Any]:
    assert entry.buffer.memory is not None  # allocated
    base = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), entry.buffer.base)
    return {"type": ir.TypeAttr.get(entry.type), "memory": ir.StringAttr.get(entry.buffer.memory.name), "base": base}
