"""verify-schedule: read the statements back as text and check them against every documented rule of the machine."""

from dataclasses import dataclass
from typing import Any

from mnc.core.context import error_at
from mnc.core.diagnostics import InternalError, file_position, node_name
from mnc.core.pass_base import Pass
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.assembly.errors import AsmSyntaxError
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.emit import emit_module


@dataclass(frozen=True)
class VerifySchedule(Pass):
    """Check the emitted program with the static checker, which knows nothing of the scheduler."""

    name = "verify-schedule"

    def run(self, module: Any) -> None:
        """Raises InternalError with the first finding: a broken rule here is a mistake of the compiler. Of statements
        that were read from a file it is a mistake there: raises CompileError with the place."""
        try:
            program = parse_program(emit_module(module))
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
            raise InternalError(message)


def _statement(module: Any, line: int) -> Any | None:
    """The operation of a line of the program, where each has one."""
    operations = [op.operation for f in module.body.operations for op in f.operation.regions[0].blocks[0].operations]
    statements = [op for op in operations if op.name == "mncore.statement"]
    return statements[line - 1] if 0 < line <= len(statements) else None


def _stands_in_a_file(op: Any) -> bool:
    return node_name(op.location) is None and file_position(op.location) is not None
