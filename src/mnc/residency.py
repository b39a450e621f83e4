"""What stays in local memory between runs: who updates whom, and the programs that fill and read those buffers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnc.core.bindings import func, ir
from mnc.core.diagnostics import CompileError
from mnc.dialects.mncore import Constant, Dl, Resident, Ul
from mnc.dialects.mncore.attributes import memory_attribute, placement_of
from mnc.mncore_backend.codegen.program_ir import Kept, read_kept
from mnc.passes.autodiff.signature import Signature, find_main

NAME, UPDATED, VALUE = "onnx.name", "mnc.updated", "value"
ARRANGEMENT = ("index_map", "padding")


def note_updates(module: Any, updates: Mapping[str, str]) -> None:
    """Note on the arguments of the main function which result is their value in the next run.

    Raises:
        CompileError: there is no such input or output, or their types differ.
    """
    if not updates:
        return
    with module.context, ir.Location.unknown():
        signature = Signature(find_main(module))
        arguments = dict(zip(signature.argument_names(), signature.block.arguments, strict=True))
        results = dict(zip(signature.result_names(), signature.results, strict=True))
        for given, found in updates.items():
            for name, role, known in ((given, "input", arguments), (found, "output", results)):
                if name not in known:
                    message = f"there is no {role} '{name}' that an update could concern"
                    raise CompileError(message, hint=f"the {role}s are: {', '.join(sorted(known))}")
            if arguments[given].type != results[found].type:
                message = f"output '{found}' is {results[found].type}, but input '{given}' is {arguments[given].type}"
                raise CompileError(message, hint="an update has the type of what it replaces")
            signature.mark(arguments[given], mnc_updated=ir.StringAttr.get(found))
        signature.write()


def companion_modules(module: Any) -> dict[str, Any]:
    """The programs that belong to a scheduled module that keeps buffers: `initialise` and, where runs update some of
    them, `read_back`; ready for the machine stage."""
    kept = read_kept(module)
    if not kept:
        return {}
    read = [entry for entry in _first_of_each(kept) if UPDATED in entry.attributes]
    made = {"initialise": _module(module, kept, kept, _fill)}
    if read:
        made["read_back"] = _module(module, kept, read, _empty)
    return made


def _first_of_each(kept: Sequence[Kept]) -> list[Kept]:
    """One buffer of each tensor; a tensor may be kept in several layouts."""
    return list({ir.StringAttr(entry.attributes[NAME]).value: entry for entry in reversed(kept)}.values())


def _dram_type(entry: Kept) -> Any:
    """The tensor of a kept buffer in DRAM, or what it is arranged from."""
    shape = placement_of(entry.type).layout.shape
    if VALUE in entry.attributes:
        shape = ir.ShapedType(entry.attributes[VALUE].type).shape
    elif "index_map" in entry.attributes:
        shape = tuple(ir.DenseI64ArrayAttr(entry.attributes["source_shape"]))
    return ir.MemRefType.get(shape, entry.type.element_type, memory_space=memory_attribute("DRAM"))


def _resident(entry: Kept) -> Any:
    made = Resident(entry.type)
    assert entry.buffer.memory is not None  # allocated before
    added = {
        NAME: entry.attributes[NAME],
        "memory": ir.StringAttr.get(entry.buffer.memory.name),
        "base": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), entry.buffer.base),
    }
    for name, attribute in added.items():
        made.operation.attributes[name] = attribute
    return made.operation.results[0]


def _module(module: Any, kept: Sequence[Kept], moved: Sequence[Kept], move: Callable[..., None]) -> Any:
    """A module in the form that `distribute` leaves: all kept buffers at their addresses, and `move` for some."""
    with module.context, ir.Location.unknown():
        made = ir.Module.create()
        role, key = ("input", NAME) if move is _fill else ("output", UPDATED)
        outside = {entry.attributes[key]: _dram_type(entry) for entry in moved if VALUE not in entry.attributes}
        with ir.InsertionPoint(made.body):
            function = func.FuncOp("main", ir.FunctionType.get(list(outside.values()), []), visibility=None)
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [ir.DictAttr.get({NAME: name, "mncore.role": ir.StringAttr.get(role)}) for name in outside]
            )
            entry_block = function.add_entry_block()
        arguments = dict(zip(outside, entry_block.arguments, strict=True))
        with ir.InsertionPoint(entry_block):
            buffers = {entry.buffer.name: _resident(entry) for entry in kept}
            for entry in moved:
                with ir.Location.name(ir.StringAttr(entry.attributes[NAME]).value):
                    move(entry, buffers[entry.buffer.name], arguments.get(entry.attributes[key]))
            func.ReturnOp([])
        return made


def _fill(entry: Kept, buffer: Any, source: Any) -> None:
    if VALUE in entry.attributes:
        constant = Constant(_dram_type(entry), entry.attributes[VALUE])
        constant.operation.attributes[NAME] = entry.attributes[NAME]
        source = constant.operation.results[0]
    load = Dl(source, buffer)
    for name in ARRANGEMENT:
        if name in entry.attributes:
            load.operation.attributes[name] = entry.attributes[name]


def _empty(entry: Kept, buffer: Any, target: Any) -> None:
    Ul(buffer, target)


__all__ = ["companion_modules", "note_updates"]
