"""Static checks of assembly programs: `check_program`, `check_stream`, `check_text`."""

from mnc.mncore_backend.checker.check import check_program, check_stream, check_text
from mnc.mncore_backend.checker.findings import CheckOptions, Finding, Severity
from mnc.mncore_backend.checker.rules import RULES, Rule

__all__ = ["RULES", "CheckOptions", "Finding", "Rule", "Severity", "check_program", "check_stream", "check_text"]
