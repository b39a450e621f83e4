"""Assembly text and its records: `parse_program`, `parse_line`, `print_statement`, `print_program`."""

from mnc.mncore_backend.assembly.errors import AsmSyntaxError
from mnc.mncore_backend.assembly.parser import parse_line, parse_program
from mnc.mncore_backend.assembly.printer import print_expression, print_program, print_statement

__all__ = ["AsmSyntaxError", "parse_line", "parse_program", "print_expression", "print_program", "print_statement"]
