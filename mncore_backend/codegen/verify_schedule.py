"""verify-schedule: read the statements back as text and check them against every documented rule of the machine."""

from dataclasses import dataclass
from typing import Any

from mnc.core.context import error_at
from mnc.core.diagnostics import InternalError, file_position, node_name
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.assembly.errors import AsmSyntaxError
from mnc.mncore_backend.assembly.records import Statement, Step, Transfer
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.codegen.emit import emit_unit, trips_of
from mnc.mncore_backend.codegen.program_ir import BUFFER, STATEMENT, MachinePass, Unit, operations_of, string_of
from mnc.mncore_backend.program import Buffer


@dataclass(frozen=True)
class VerifySchedule(MachinePass):
    """Check the emitted program with the static checker, which knows nothing of the scheduler."""

    name = "verify-schedule"

    def run_on(self, unit: Unit) -> None:
        """Of a program that is repeated the first two trips are checked: others differ in addresses in DRAM only.

        Raises InternalError with the first finding: a broken rule here is a mistake of the compiler. Of statements
        that were read from a file it is a mistake there: raises CompileError with the place."""
        module = unit.module
        try:
            program = parse_program(emit_unit(unit, trips_of(unit), most=2))
        except AsmSyntaxError as error:
            if (statement := _statement(module, error.line)) is None:
                raise
            raise error_at(statement, error.message, error.hint) from None
        findings = [f for f in check_program(program) if f.severity == "error"]
        if findings:
            first = findings[0]
            message = f"{len(findings)} rules broken, first at line {first.line}: {first.message} [{first.rule}]"
            statement = _statement(module, first.line)
            if statement is not None and _stands_in_a_file(statement):
                raise error_at(statement, message, first.hint)
            if first.rule.endswith("-alignment") and (found := _written_buffer(unit, program, first.line)):
                hint = "write an alignment that is a multiple of what the instruction takes"
                raise error_at(found[0], f"is placed at {found[1].base}, but {first.message}", hint)
            raise InternalError(message)


def _statement(module: Any, line: int) -> Any | None:
    """The operation of a line of the program, where each has one."""
    statements = [op for op in operations_of(module) if op.name == STATEMENT]
    return statements[line - 1] if 0 < line <= len(statements) else None


def _written_buffer(unit: Unit, program: list[Statement], line: int) -> tuple[Any, Buffer] | None:
    """The buffer of a file at which an operand of this line of the program points, and the operation that makes it."""
    (statement,) = (one for one in program if one.line == line)
    operands = [
        operand
        for expression in (statement.expressions if isinstance(statement, Step) else ())
        for operand in (*expression.sources, *expression.destinations)
    ]
    if isinstance(statement, Transfer):
        operands = [operand for operand in (statement.source, statement.destination) if operand]
    for op in operations_of(unit.module):
        if op.name == BUFFER and _stands_in_a_file(op):
            made = unit.buffers[string_of(op, "sym_name")]
            if any(o.memory is made.memory and 0 <= o.address - (made.base or 0) < made.size for o in operands):
                return op, made
    return None


def _stands_in_a_file(op: Any) -> bool:
    return node_name(op.location) is None and file_position(op.location) is not None
