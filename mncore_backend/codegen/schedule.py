"""schedule: machine operations with addresses -> the statements of the program, one per step or transfer.

before:  mncore.instruction "gmwrite | ...", mncore.instruction "ilsr | ..."
after:   mncore.statement "gmwrite $lr0v $lx0; ilsr $ls0v $ls8 $ls16v"
"""

from dataclasses import dataclass

from mnc.core.both import both
from mnc.core.diagnostics import CompileError
from mnc.core.pass_base import at_least
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit
from mnc.mncore_backend.codegen.scheduling import TooLongError, scheduled_lines
from mnc.mncore_backend.codegen.scheduling.bound import least_cycles
from mnc.mncore_backend.program import BufferOperand, Program


@dataclass(frozen=True)
class Schedule(MachinePass):
    """Pack operations into steps, hide transfers behind work, keep every distance and port rule.

    below: cycles that the program has to stay below to be of use. Where one unit has work for as long, it is not
    scheduled at all, and a schedule that nothing could make so short is given up. None: any number.
    """

    name = "schedule"
    done = "scheduled"
    below: int | None = at_least(0, None)

    def run_on(self, unit: Unit) -> None:
        """Replace every ``mncore.instruction`` by ``mncore.statement`` operations."""
        _check_addresses(unit)
        if self.below is not None and least_cycles(unit.program) >= self.below:
            raise TooLongError(f"the program takes at least {self.below} cycles", hint="permit more")
        lines = scheduled_lines(unit.program, both, most=self.below)
        unit.statements += zip(lines.texts, lines.nodes, strict=True)
        unit.program = Program(unit.program.buffers)  # whoever keeps the one that was scheduled finds it as it was
        unit.is_rewritten = True


def _check_addresses(unit: Unit) -> None:
    """Raises CompileError where a pass that comes before was left out."""
    hint = "run select-instructions and allocate-buffers first"
    if not (unit.program.operations or unit.statements or unit.buffers):  # without work there are buffers still
        raise CompileError("schedule finds no machine operations", hint=hint)
    for op in unit.program.operations:
        for operand in (*op.sources, *op.destinations):
            if isinstance(operand, BufferOperand) and operand.buffer.base is None:
                raise CompileError(f"schedule: buffer '{operand.buffer.name}' has no address", hint=hint)
