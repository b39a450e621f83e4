"""verify-schedule: read the statements back as text and check them against every documented rule of the machine."""

from dataclasses import dataclass
from typing import Any

from mnc.core.diagnostics import InternalError
from mnc.core.pass_base import Pass
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.emit import emit_module


@dataclass(frozen=True)
class VerifySchedule(Pass):
    """Check the emitted program with the static checker, which knows nothing of the scheduler."""

    name = "verify-schedule"

    def run(self, module: Any) -> None:
        """Raises InternalError with the first finding: a broken rule here is a mistake of the compiler."""
        findings = [f for f in check_program(parse_program(emit_module(module))) if f.severity == "error"]
        if findings:
            first = findings[0]
            message = f"{len(findings)} rules broken, first at line {first.line}: {first.message} [{first.rule}]"
            raise InternalError(message)
