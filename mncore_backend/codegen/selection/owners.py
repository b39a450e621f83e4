"""Whose work a load is: inputs and weights are no nodes, so what brings them belongs to the node that reads them."""

from collections.abc import Sequence
from typing import Any

from mnc.core.diagnostics import node_name

_ALIAS = "memref.memory_space_cast"


def reader_names(operations: Sequence[Any]) -> dict[Any, str]:
    """For every ``mncore.dl`` of a function's body the name of the first operation that reads what it loads, if that
    has one."""
    place = {op: i for i, op in enumerate(operations)}
    names = {}
    for op in operations:
        if op.name == "mncore.dl":
            readers = _uses(op.operands[1], op, place)
            first = min(readers, key=lambda reader: place[reader], default=None)
            if first is not None and (name := node_name(first.location)):
                names[op] = name
    return names


def _uses(value: Any, load: Any, place: dict[Any, int]) -> list[Any]:
    """Operations of the body, other than `load`, that use a buffer under any of its types."""
    found = []
    for use in value.uses:
        owner = use.owner.operation
        if owner.name == _ALIAS:
            found += _uses(owner.results[0], load, place)
            continue
        while owner not in place:
            owner = owner.parent.operation
        if owner != load:
            found.append(owner)
    return found
