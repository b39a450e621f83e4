"""Modules as a whole: copies, exchange of what they hold, the largest tensor, and what was preferred for them."""

from math import prod
from typing import Any

from mnc.core.bindings import ir

NOTE = "mnc.preferences"


def copy_module(module: Any) -> Any:
    """A module with copies of all operations."""
    with module.context, ir.Location.unknown():
        copy = ir.Module.create()
        for op in module.body.operations:
            copy.body.append(op.operation.clone())
        return copy


def take_over(module: Any, other: Any) -> None:
    """Put what another module holds in the place of what a module holds."""
    for op in list(module.body.operations):
        op.operation.erase()
    for op in list(other.body.operations):
        op.operation.detach_from_parent()
        module.body.append(op)


def largest_tensor(module: Any) -> int:
    """Elements of the largest tensor that the operations of a module's functions take or make."""
    sizes = [0]
    for function in module.body.operations:
        for block in (block for region in function.operation.regions for block in region.blocks):
            values = [*block.arguments, *(value for op in block.operations for value in op.operation.results)]
            types = [value.type for value in values if isinstance(value.type, ir.RankedTensorType)]
            sizes += [prod(ir.RankedTensorType(type_).shape) for type_ in types]
    return max(sizes)


def note_preferences(module: Any, preferences: tuple[str, ...]) -> None:
    """Note on a compiled module what was preferred."""
    with module.context:
        module.operation.attributes[NOTE] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in preferences])


def preferences_of(module: Any) -> tuple[str, ...]:
    """What was preferred in a compiled module, as far as it was noted."""
    attributes = module.operation.attributes
    return tuple(ir.StringAttr(name).value for name in attributes[NOTE]) if NOTE in attributes else ()
