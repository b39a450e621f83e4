"""Models of equal layers: the layer is compiled first, then what comes before and after it.

What layers hand to each other stays in local memory; the others have to leave it there and to find it there."""

from dataclasses import replace
from typing import Any

from mnc.core.bindings import ir
from mnc.core.recording import unrecorded
from mnc.dialects.mncore.trips import TABLES
from mnc.lowering.linalg_to_spmd.homes import HOMES
from mnc.lowering.linalg_to_spmd.outline_layers import AFTER, BEFORE, LAYER
from mnc.mncore_backend.codegen.program_ir import Kept, read_kept
from mnc.mncore_backend.shortest.modules import copy_module, preferences_of
from mnc.options import Options
from mnc.stages import Pipeline, stages_of

NAME, VALUE = "onnx.name", "value"
BEFORE_LAYERS = "graph", "linalg"
"""Stages that the whole model has gone through."""


def outlined(module: Any, options: Options) -> Any | None:
    """A module in the form that the stage ``linalg`` leaves, split into what comes before, one layer, and what comes
    after; None where it is not made of layers."""
    if options.resident != "nothing":
        return None
    made = copy_module(module)
    Pipeline.parse("builtin.module(outline-layers)").run(made)
    return made if any(op.operation.name == "builtin.module" for op in made.body.operations) else None


def nested_modules(module: Any) -> dict[str, Any]:
    """The modules inside a module, by name, each as a module of its own; they are taken out."""
    found = {}
    with module.context, ir.Location.unknown():
        for view in list(module.body.operations):
            if view.operation.name == "builtin.module":
                made = ir.Module.create()
                for op in list(view.operation.regions[0].blocks[0].operations):
                    op.operation.detach_from_parent()
                    made.body.append(op)
                found[ir.StringAttr(view.operation.attributes["sym_name"]).value] = made
                view.operation.erase()
    return found


def compiled_in_layers(module: Any, options: Options) -> tuple[Any, tuple[str, ...]]:
    """What `outlined` made, with every part scheduled, and the preferences that the layer was compiled with.

    Raises CompileError as the stages do, and where parts cannot hand over what they should."""
    parts = nested_modules(module)
    layer, preferences = _scheduled(parts[LAYER], replace(options, resident="updates"))  # what is recorded is of it
    kept = read_kept(layer)
    made = {LAYER: layer}
    with unrecorded():
        for name, attribute in ((BEFORE, "res_attrs"), (AFTER, "arg_attrs")):
            _note_homes(parts[name], attribute, kept, tables=name == BEFORE)
            made[name], _ = _scheduled(parts[name], options)
    with module.context, ir.Location.unknown():
        for name in (BEFORE, LAYER, AFTER):
            nested = made[name].operation.clone()
            nested.attributes["sym_name"] = ir.StringAttr.get(name)
            module.body.append(nested)
    return module, preferences


def _scheduled(module: Any, options: Options) -> tuple[Any, tuple[str, ...]]:
    """A module after all stages, with the preferences that are asked for, or those that make it shortest."""
    for name, pipeline in stages_of(options).items():
        if name not in BEFORE_LAYERS:
            pipeline.run(module)
    return module, preferences_of(module) if options.prefer is None else options.prefer


def _home(entry: Kept) -> dict[str, Any]:
    assert entry.buffer.memory is not None  # allocated
    base = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), entry.buffer.base)
    return {"type": ir.TypeAttr.get(entry.type), "memory": ir.StringAttr.get(entry.buffer.memory.name), "base": base}


def _note_homes(module: Any, attribute: str, kept: list[Kept], *, tables: bool) -> None:
    """Say on the function of a module where its results have to be, or its arguments are."""
    with module.context, ir.Location.unknown():
        (function,) = (view.operation for view in module.body.operations)
        entries = []
        for entry in map(ir.DictAttr, function.attributes[attribute]):
            homes = [ir.DictAttr.get(_home(own)) for own in kept if own.attributes[NAME] == entry[NAME]]
            given = {item.name: item.attr for item in entry}
            entries.append(ir.DictAttr.get({**given, **({HOMES: ir.ArrayAttr.get(homes)} if homes else {})}))
        function.attributes[attribute] = ir.ArrayAttr.get(entries)
        if tables:
            own = [{**_home(e), NAME: e.attributes[NAME], VALUE: e.attributes[VALUE]} for e in _tables(kept)]
            function.attributes[TABLES] = ir.ArrayAttr.get([ir.DictAttr.get(entry) for entry in own])


def _tables(kept: list[Kept]) -> list[Kept]:
    """Constants that a program expects in local memory."""
    return [entry for entry in kept if VALUE in entry.attributes]
