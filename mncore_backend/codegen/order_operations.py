"""order-operations: the most urgent kernels first, or large loads ahead of their use.

before:  kernels and movements one after the other, as the model has them
after:   the same operations in an order that keeps the matrix units and DRAM busy

Small programs are put in the order in which a simulation of the units starts their kernels (`ordering/order.py`). In
long ones large loads go ahead of their use, as far as there is room for them (`ordering/take_back.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from mnc.core.pass_base import at_least
from mnc.mncore_backend.codegen.ordering.order import ordered_kernels
from mnc.mncore_backend.codegen.ordering.take_back import with_loads_ahead
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit
from mnc.mncore_backend.codegen.scheduling import TooLongError
from mnc.mncore_backend.codegen.scheduling.bound import least_cycles
from mnc.mncore_backend.program import MachineOp, Program, kernel_of_origin


@dataclass(frozen=True)
class OrderOperations(MachinePass):
    """Put kernels and transfers in an order that keeps units busy.

    below: cycles that the program has to stay below to be of use; where one unit of the PEs has work for as long, it is
    given up.
    """

    name = "order-operations"
    done = "ordered"
    below: int | None = at_least(0, None)

    def run_on(self, unit: Unit) -> None:
        """Reorder the operations in place; loads that go ahead get staging buffers of their own."""
        if self.below is not None and least_cycles(unit.program, has_addresses=False) >= self.below:
            raise TooLongError(f"the program takes at least {self.below} cycles", hint="permit more")
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
    program.operations = with_loads_ahead(program, runs) or [op for run in runs for op in run]
