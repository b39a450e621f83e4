"""Which output of a model is the value of which input in the next run, as notes on the arguments of its function."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.dialects.graph.run_time_extents import noted_extents

NAME, UPDATED = "onnx.name", "mnc.updated"
DECLARED = "mnc.updates"
"""Key of the metadata of a model; its value is an object of JSON, of inputs and the outputs that update them."""


def declare_updates(model: onnx.ModelProto, updates: Mapping[str, str]) -> None:
    """Write updates (input -> output) into a model, so that nobody has to give them any more."""
    model.metadata_props.add(key=DECLARED, value=json.dumps(dict(updates)))


def declared_updates(model: onnx.ModelProto) -> dict[str, str]:
    """The updates that a model declares; without those of inputs and outputs that a part of it may lack.

    Raises:
        CompileError: the declaration cannot be read.
    """
    texts = [entry.value for entry in model.metadata_props if entry.key == DECLARED]
    if not texts:
        return {}
    try:
        found = json.loads(texts[-1])
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(output, str) for output in found.values()):
        hint = 'write an object such as {"state": "state_new"}, or leave the entry out'
        raise CompileError(f"cannot read '{DECLARED}' in the metadata of the model", hint=hint)
    inputs, outputs = ({value.name for value in values} for values in (model.graph.input, model.graph.output))
    known = inputs - {tensor.name for tensor in model.graph.initializer}
    return {given: output for given, output in found.items() if given in known and output in outputs}


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
