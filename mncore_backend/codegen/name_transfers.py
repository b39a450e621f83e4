"""name-transfers: an MV belongs to the nodes that read what it brings, or that fill what it takes away.

before:  mvp | n=256 | %image | -> %down  loc("w"("kernel 3"))
after:   mvp | n=256 | %image | -> %down  loc("conv1 + conv2"("kernel 3"))

Several tensors may share an MV. Its nodes are then those of all hops that take from it what it brings, or that fill
what it takes away. Nothing but locations changes, which costs and reports go by.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp, Origin, kernel_of_origin


@dataclass(frozen=True)
class NameTransfers(MachinePass):
    """Give every MV the locations of the operations it works for."""

    name = "name-transfers"

    def run_on(self, unit: Unit) -> None:
        """Change the locations of MVs in place."""
        name_transfers(unit.program.operations)
        unit.is_rewritten = True


def name_transfers(operations: Sequence[MachineOp]) -> None:
    """Give every MV the locations of what reads its destination, or, if that is DRAM, of what fills its source."""
    readers, writers = defaultdict[Buffer, dict[str, None]](dict), defaultdict[Buffer, dict[str, None]](dict)
    transfers = []
    for op in operations:
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
