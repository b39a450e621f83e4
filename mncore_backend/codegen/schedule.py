"""schedule: machine operations with addresses -> the statements of the program, one per step or transfer.

before:  mncore.instruction "gmwrite | ...", mncore.instruction "ilsr | ..."
after:   mncore.statement "gmwrite $lr0v $lx0; ilsr $ls0v $ls8 $ls16v"
"""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.core.both import both
from mnc.core.context import error_at
from mnc.core.diagnostics import CompileError, InternalError, file_position, node_name
from mnc.core.pass_base import Pass
from mnc.mncore_backend.codegen.program_ir import Unit, erase_named, read_unit
from mnc.mncore_backend.codegen.scheduling import scheduled_lines
from mnc.mncore_backend.program import BufferOperand


@dataclass(frozen=True)
class Schedule(Pass):
    """Pack operations into steps, hide transfers behind work, keep every distance and port rule.

    most: cycles that the program may take; a search gives up on what takes more. None: any number.
    """

    name = "schedule"
    most: int | None = None

    def run(self, module: Any) -> None:
        """Replace every ``mncore.instruction`` by ``mncore.statement`` operations."""
        with module.context, ir.Location.unknown():
            unit = read_unit(module)
            _check_addresses(unit)
            lines = _scheduled(module, unit, self.most)
            terminator = erase_named(module, "mncore.instruction")
            locations: dict[str, Any] = {"": ir.Location.unknown()}
            with ir.InsertionPoint(terminator):
                for line, name in zip(lines.texts, lines.nodes, strict=True):
                    if name not in locations:
                        locations[name] = ir.Location.name(name)
                    text = ir.StringAttr.get(line)
                    ir.Operation.create("mncore.statement", attributes={"text": text}, loc=locations[name])


def _scheduled(module: Any, unit: Unit, most: int | None) -> Any:
    """The statements. What cannot be scheduled is a mistake of ours, or of those who wrote the file it stands in."""
    try:
        return scheduled_lines(unit.program, both, most=most)
    except InternalError as error:
        first = next((op.operation for f in module.body.operations for op in f.operation.regions[0].blocks[0].operations
                      if op.operation.name == "mncore.instruction"), None)  # fmt: skip
        if first is None or node_name(first.location) is not None or file_position(first.location) is None:
            raise
        hint = "every operand is written before it is read, and latches are read right after"
        raise error_at(first.parent, f"cannot be scheduled: {error.message}", hint) from None


def _check_addresses(unit: Unit) -> None:
    """Raises CompileError where a pass that comes before was left out."""
    hint = "run select-instructions and allocate-buffers first"
    if not (unit.program.operations or unit.statements or unit.buffers):  # without work there are buffers still
        raise CompileError("schedule finds no machine operations", hint=hint)
    for op in unit.program.operations:
        for operand in (*op.sources, *op.destinations):
            if isinstance(operand, BufferOperand) and operand.buffer.base is None:
                raise CompileError(f"schedule: buffer '{operand.buffer.name}' has no address", hint=hint)
