"""What a program needs to know beside its operations, as a list of entries in an attribute of the module."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from mnc.core.bindings import ir
from mnc.core.context import error_at

EntryT = TypeVar("EntryT")


def write_note(module: Any, attribute: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """Write entries of strings, lists of strings and numbers, if there are any."""
    if not entries:
        return
    with module.context:
        noted = [ir.DictAttr.get({key: _attribute(value) for key, value in entry.items()}) for entry in entries]
        module.operation.attributes[attribute] = ir.ArrayAttr.get(noted)


def _attribute(value: str | int | Sequence[str]) -> ir.Attribute:
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return ir.ArrayAttr.get([ir.StringAttr.get(own) for own in value])


def read_note(module: Any, attribute: str, entry: Callable[[Any], EntryT], example: str) -> tuple[EntryT, ...]:
    """Read them, each with `entry`. Raises CompileError, with the `example` as a hint, for a note of another form."""
    if attribute not in module.operation.attributes:
        return ()
    noted = module.operation.attributes[attribute]
    try:
        return tuple(entry(ir.DictAttr(own)) for own in ir.ArrayAttr(noted))
    except (KeyError, ValueError):
        message = f"has the attribute {attribute} = {str(noted)[:60]}"
        raise error_at(module.operation, message, hint=f"write {example}") from None
