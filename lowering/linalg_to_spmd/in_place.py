"""Writing a new value straight to the buffer whose old value it replaces, where nobody needs the old one any more."""

from collections.abc import Iterator
from typing import Any

from mnc.core.bindings import ir

CAST = "memref.memory_space_cast"


def aliases(value: Any) -> list[Any]:
    """A buffer and its views."""
    found = [value]
    for one in found:
        found += [use.owner.operation.results[0] for use in one.uses if use.owner.operation.name == CAST]
    return found


def root_of(value: Any) -> Any:
    """The buffer that a value is a view of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == CAST:
        value = value.owner.operands[0]
    return value


def _users(value: Any, block: Any) -> list[Any]:
    """Operations of the block that use a buffer, a view of it, or hold an operation that does."""
    found: list[Any] = []
    for one in aliases(value):
        for use in one.uses:
            op = use.owner.operation
            if op.name == CAST:
                continue
            while op.block != block:
                op = op.parent.operation
            if op not in found:
                found.append(op)
    return found


def _inside(op: Any) -> Iterator[Any]:
    yield op
    for region in op.regions:
        for inner in region.blocks:
            for one in inner.operations:
                yield from _inside(one.operation)


def _subscripts(op: Any, first: int) -> tuple[str, list[Any]]:
    return str(op.attributes["map"]), list(op.operands)[first:]


def _same_elements(nest: Any, new: Any, old: Any) -> bool:
    """Whether a nest reads of the old value only the element that it is about to replace."""
    operations = list(_inside(nest))
    stores = [op for op in operations if op.name == "affine.store" and op.operands[1] == new]
    loads = [op for op in operations if op.name == "affine.load" and op.operands[0] == old]
    uses = sum(operand == old for op in operations for operand in op.operands)
    if len(stores) != 1 or uses != len(loads):
        return False
    written = _subscripts(stores[0], 2)
    return all(_subscripts(load, 1) == written for load in loads)


def update_in_place(block: Any, updates: list[tuple[Any, Any]]) -> None:
    """Let the writers of new values write the buffers that take them; `updates` gets those buffers as the values.

    Possible where a value has a buffer of its own in the layout of its target, and its first writer comes behind all
    readers of the old value. A writer whose result nobody else reads is moved to the end for that.
    """
    for i, (value, buffer) in enumerate(updates):
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name != "memref.alloc" or value.type != buffer.type:
            continue
        if sum(other == value or root_of(other) == buffer for other, _ in updates) != 1:
            continue  # another update needs the old value, or takes this one as well
        order = {op.operation: place for place, op in enumerate(block.operations)}
        writers = sorted(_users(value, block), key=order.__getitem__)
        if not writers:
            continue
        writer = writers[0]
        if writer.name == "mncore.dl":  # it shall hide behind the work, not follow it
            continue
        if len(writers) == 1 and not _reads_another(writer, buffer, updates, block):
            writer.move_before(list(block.operations)[-1].operation)
            order = {op.operation: place for place, op in enumerate(block.operations)}
        readers = [op for op in _users(buffer, block) if op != writer]
        if any(order[op] > order[writer] for op in readers):
            continue
        if not _same_elements(writer, value, buffer):
            continue
        value.replace_all_uses_with(buffer)
        owner.erase()
        updates[i] = buffer, buffer


def _reads_another(writer: Any, buffer: Any, updates: list[tuple[Any, Any]], block: Any) -> bool:
    """Whether an operation uses what another update overwrites."""
    return any(other != buffer and writer in _users(other, block) for _, other in updates)
