"""Which output of a model is the value of which input in the next run, as notes on the arguments of its function."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.dialects.graph.run_time_extents import noted_extents

NAME, UPDATED = "onnx.name", "mnc.updated"


def note_updates(function: Any, updates: Mapping[str, str]) -> None:
    """Note on the arguments of a function which result is their value in the next run.

    Args:
        updates: input -> output.

    Raises:
        CompileError: there is no such input or output, or their types differ.
    """
    if not updates:
        return
    terminator = list(function.regions[0].blocks[0].operations)[-1].operation
    arguments = _by_name(function, "arg_attrs", list(function.regions[0].blocks[0].arguments))
    results = _by_name(function, "res_attrs", list(terminator.operands))
    for given, found in updates.items():
        for name, role, known in ((given, "input", arguments), (found, "output", results)):
            if name not in known:
                message = f"there is no {role} '{name}' that an update could concern"
                raise CompileError(message, hint=f"the {role}s are: {', '.join(sorted(known))}")
        if arguments[given].type != results[found].type:
            message = f"output '{found}' is {results[found].type}, but input '{given}' is {arguments[given].type}"
            raise CompileError(message, hint="an update has the type of what it replaces")
    noted = []
    for name, entry in zip(arguments, function.attributes["arg_attrs"], strict=True):
        own = {item.name: item.attr for item in ir.DictAttr(entry)}
        noted.append(ir.DictAttr.get(own | ({UPDATED: ir.StringAttr.get(updates[name])} if name in updates else {})))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(noted)


def refuse_open_updates(module: Any, updates: Mapping[str, str]) -> None:
    """Raise CompileError for an update by a result whose extents a run finds: the next run takes a static shape."""
    for entry in noted_extents(module):
        if entry.output in updates.values():
            message = f"output '{entry.output}' has as many elements along dimension {entry.dimension} as a run finds"
            raise CompileError(message, hint="an update has the shape of what it replaces")


def _by_name(function: Any, attribute: str, values: Sequence[Any]) -> dict[str, Any]:
    entries = function.attributes[attribute] if values else []
    return {ir.StringAttr(ir.DictAttr(e)[NAME]).value: value for e, value in zip(entries, values, strict=True)}
