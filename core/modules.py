"""Modules as a whole: copies, bytes, exchange of what they hold, and modules inside of modules, by name."""

import io
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import make_context

NAME, MODULE = "sym_name", "builtin.module"


def copy_module(module: Any) -> Any:
    """A module with copies of all operations."""
    with module.context, ir.Location.unknown():
        copy = ir.Module.create()
        for op in module.body.operations:
            copy.body.append(op.operation.clone())
        return copy


def functions_of(module: Any) -> list[Any]:
    """The functions of a module that have a body. Declarations hold nothing that a pass could work on."""
    return [op for op in module.body.operations if op.operation.name == "func.func" and len(op.regions[0].blocks)]


def module_bytes(module: Any) -> bytes:
    """A module as bytecode."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def module_from_bytes(bytecode: bytes) -> Any:
    """The inverse of `module_bytes`, in a context of its own, which the module keeps alive."""
    with make_context(), ir.Location.unknown():
        return ir.Module.parse(bytecode)


def take_over(module: Any, other: Any) -> None:
    """Put what another module holds in the place of what a module holds."""
    for op in list(module.body.operations):
        op.operation.erase()
    _move(other, module)


def _move(source: Any, target: Any) -> None:
    for op in list(source.body.operations):
        op.operation.detach_from_parent()
        target.body.append(op)


def name_of(module: Any) -> str:
    """The name of a module; empty where it has none."""
    attributes = module.operation.attributes
    return ir.StringAttr(attributes[NAME]).value if NAME in attributes else ""


def parts_of(module: Any) -> dict[str, Any]:
    """The modules inside of a module, by name, where they are."""
    return {name_of(view): view for view in module.body.operations if view.operation.name == MODULE}


def take_parts(module: Any) -> dict[str, Any]:
    """The same as modules of their own, which keep their names; the module has them no more."""
    found = {}
    with module.context, ir.Location.unknown():
        for name, part in parts_of(module).items():
            found[name] = _moved(part)
            found[name].operation.attributes[NAME] = ir.StringAttr.get(name)
            part.operation.erase()
    return found


def put_part(module: Any, name: str, part: Any) -> None:
    """Put a copy of a module into another, behind what that holds."""
    with module.context:
        nested = part.operation.clone()
        nested.attributes[NAME] = ir.StringAttr.get(name)
        module.body.append(nested)


def wrap(module: Any, name: str) -> None:
    """Put all that a module holds into a module inside of it."""
    with module.context, ir.Location.unknown():
        put_part(module, name, _moved(module))


def _moved(source: Any) -> Any:
    """A module with all that another one holds."""
    made = ir.Module.create()
    _move(source, made)
    return made
