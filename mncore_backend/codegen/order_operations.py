"""order-operations: the most urgent kernels first, or large loads ahead of their use.

before:  kernels and movements one after the other, as the model has them
after:   the same operations in an order that keeps the matrix units and DRAM busy

Small programs are put in the order in which a simulation of the units starts their kernels (`ordering/order.py`). In
long ones large loads go ahead of their use, as far as there is room for them (`ordering/prefetch.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from mnc.mncore_backend.codegen.allocation import fits, load_again
from mnc.mncore_backend.codegen.coalescing.coalesce import coalesce_copies
from mnc.mncore_backend.codegen.ordering.order import ordered_kernels
from mnc.mncore_backend.codegen.ordering.prefetch import SHARES, prefetched
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit
from mnc.mncore_backend.program import MachineOp, Program, kernel_of_origin


@dataclass(frozen=True)
class OrderOperations(MachinePass):
    """Put kernels and transfers in an order that keeps units busy."""

    name = "order-operations"
    done = "ordered"

    def run_on(self, unit: Unit) -> None:
        """Reorder the operations in place; loads that go ahead get staging buffers of their own."""
        before = unit.program.operations
        order(unit.program, runs_of(before))
        unit.is_rewritten |= unit.program.operations != before


def runs_of(operations: Sequence[MachineOp]) -> list[list[MachineOp]]:
    """Operations that follow each other, those of a kernel or movement together."""
    return [list(own) for _, own in groupby(operations, key=lambda op: kernel_of_origin(op.location))]


def order(program: Program, runs: Sequence[Sequence[MachineOp]]) -> None:
    """Give a program the operations of `runs`: the most urgent first, or with large loads ahead if all buffers have
    room then, or as they are."""
    if (ordered := ordered_kernels(program, runs)) is not None:
        program.operations = ordered
        return
    known = len(program.buffers)
    for share in SHARES:
        ahead = prefetched(program, runs, share)
        if ahead is None:
            break
        if _has_room(program, ahead):
            program.operations = ahead
            return
        del program.buffers[known:]
    program.operations = [op for run in runs for op in run]


def _has_room(program: Program, operations: Sequence[MachineOp]) -> bool:
    """Whether the buffers of a program fit when it is done in this order, after the passes that come until then."""
    trial = Program(list(program.buffers), list(operations))
    coalesce_copies(trial)
    load_again(trial)
    return fits(trial)
