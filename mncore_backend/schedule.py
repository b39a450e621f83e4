"""schedule: machine operations with addresses -> the statements of the program, one per step or transfer.

before:  mncore.instruction "gmwrite | ...", mncore.instruction "ilsr | ..."
after:   mncore.statement "gmwrite $lr0v $lx0; ilsr $ls0v $ls8 $ls16v"
"""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.core.both import both
from mnc.core.diagnostics import CompileError
from mnc.core.pass_base import Pass
from mnc.mncore_backend.program import BufferOperand
from mnc.mncore_backend.program_ir import Unit, erase_named, read_unit
from mnc.mncore_backend.scheduling import scheduled_lines


@dataclass(frozen=True)
class Schedule(Pass):
    """Pack operations into steps, hide transfers behind work, keep every distance and port rule."""

    name = "schedule"

    def run(self, module: Any) -> None:
        """Replace every ``mncore.instruction`` by ``mncore.statement`` operations."""
        with module.context, ir.Location.unknown():
            unit = read_unit(module)
            _check_addresses(unit)
            lines = scheduled_lines(unit.program, both)
            terminator = erase_named(module, "mncore.instruction")
            locations: dict[str, Any] = {"": ir.Location.unknown()}
            with ir.InsertionPoint(terminator):
                for line, name in zip(lines.texts, lines.nodes, strict=True):
                    if name not in locations:
                        locations[name] = ir.Location.name(name)
                    text = ir.StringAttr.get(line)
                    ir.Operation.create("mncore.statement", attributes={"text": text}, loc=locations[name])


def _check_addresses(unit: Unit) -> None:
    """Raises CompileError where a pass that comes before was left out."""
    hint = "run select-instructions and allocate-buffers first"
    if not (unit.program.operations or unit.statements or unit.buffers):  # without work there are buffers still
        raise CompileError("schedule finds no machine operations", hint=hint)
    for op in unit.program.operations:
        for operand in (*op.sources, *op.destinations):
            if isinstance(operand, BufferOperand) and operand.buffer.base is None:
                raise CompileError(f"schedule: buffer '{operand.buffer.name}' has no address", hint=hint)
