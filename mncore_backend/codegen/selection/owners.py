"""Whose work a transfer is: inputs and weights are no nodes, so what brings them belongs to the node that reads them.

An MV that several tensors share belongs to the nodes of all of them: those of the hops that take from it what it
brings, or that fill what it takes away.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR, node_name
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp, Origin, Program, kernel_of_origin

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


def name_transfers(program: Program) -> None:
    """Give every MV the locations of what reads its destination, or, if that is DRAM, of what fills its source."""
    readers, writers = defaultdict[Buffer, dict[str, None]](dict), defaultdict[Buffer, dict[str, None]](dict)
    transfers = []
    for op in program.operations:
        if op.is_transfer:
            transfers.append(op)
        else:
            _note(op, readers, writers)
    for op in reversed(transfers):  # one may take what another brings
        if names := [name for buffer in _buffers(op.destinations) for name in readers[buffer]]:
            op.location = Origin(_joined(names), kernel_of_origin(op.location))
        _note(op, readers, None)
    for op in transfers:
        if not any(readers[buffer] for buffer in _buffers(op.destinations)):
            if names := [name for buffer in _buffers(op.sources) for name in writers[buffer]]:
                op.location = Origin(_joined(names), kernel_of_origin(op.location))
            _note(op, None, writers)


def _note(
    op: MachineOp,
    readers: defaultdict[Buffer, dict[str, None]] | None,
    writers: defaultdict[Buffer, dict[str, None]] | None,
) -> None:
    for table, operands in ((readers, op.sources), (writers, op.destinations)):
        if table is not None and op.location:
            for buffer in _buffers(operands):
                table[buffer][op.location] = None


def _buffers(operands: Sequence[Any]) -> list[Buffer]:
    return [operand.buffer for operand in operands if isinstance(operand, BufferOperand)]


def _joined(names: Sequence[str]) -> str:
    single = [name for several in names for name in several.split(NODE_SEPARATOR)]
    return NODE_SEPARATOR.join(dict.fromkeys(single))
