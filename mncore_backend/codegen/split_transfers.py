"""split-transfers: long MVs become several, so that what goes on with their data need not wait for all of it.

before:  mvp | n=4096 | %up | -> %pdm ;  mvb | n=4096 | %pdm | -> %down
after:   mvp | n=2048 | %up | -> %pdm ;  mvp | n=2048 | %up[2048] | -> %pdm[2048] ;  the same of both mvb

What is brought to other L2Bs, added up in DRAM, or loaded passes several memories. With one MV for all, the way takes
the sum of what each memory takes; in parts, the first one is at its end while the last one begins.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from mnc.mncore_backend.assembly.mv_accesses import mv_form
from mnc.mncore_backend.codegen.ordering.kernels import transfer_of_buffers, transfer_timing
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import BufferOperand, MachineOp
from mnc.mncore_backend.target import MvForm

SHORTEST = 16
"""Steps that a part gives data for at least. An MV takes a tag, a wait, and a few steps to issue."""
MOST = 8
"""Parts of an MV at most."""
SCATTERS = "mvd"
"""The operation whose parts do not lie one behind the other on both sides."""


@dataclass(frozen=True)
class SplitTransfers(MachinePass):
    """Cut long MVs, so that parts of their data are there earlier."""

    name = "split-transfers"
    done = "split"

    def run_on(self, unit: Unit) -> None:
        """Put the parts in the place of each long MV."""
        before = unit.program.operations
        unit.program.operations = list(chain.from_iterable(map(_parts, before)))
        unit.is_rewritten |= len(unit.program.operations) > len(before)


def _parts(op: MachineOp) -> Iterator[MachineOp]:
    """The operation, or the parts of an MV."""
    form = _form(op) if op.is_transfer else None
    if form is None:
        yield op
        return
    (source,), (destination,) = op.sources, op.destinations
    assert isinstance(source, BufferOperand)
    assert isinstance(destination, BufferOperand)
    for first, end in pairwise(_cuts(op)):
        yield replace(
            op,
            size=end - first,
            sources=(_moved(source, form.source_longs(first)),),
            destinations=(_moved(destination, form.destination_longs(first)),),
        )


def _form(op: MachineOp) -> MvForm | None:
    """The form of an MV between buffers that can be cut; None of any other."""
    if not all(isinstance(operand, BufferOperand) for operand in (*op.sources, *op.destinations)):
        return None
    form = mv_form(transfer_of_buffers(op))
    return None if form is None or form.opcode == SCATTERS or op.size % MV_UNIT else form


def _cuts(op: MachineOp) -> list[int]:
    """Where the parts of an MV begin, and its end, in long words of its size."""
    units = op.size // MV_UNIT  # in blocks of it the DRAMs take turns, and dependences are known
    parts = max(1, min(MOST, transfer_timing(op).data_steps // SHORTEST, units))
    return [MV_UNIT * (units * number // parts) for number in range(parts + 1)]


def _moved(operand: BufferOperand, longs: int) -> BufferOperand:
    return operand._replace(offsets=(operand.offsets[0] + longs,))
