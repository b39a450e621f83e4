"""Assembly text and its records: `parse_program`, `parse_line`, `print_statement`, `print_program`.

Resolved on first use: the records are a leaf that the table of hardware numbers imports, and the parser needs that
table.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnc.mncore_backend.assembly.errors import AsmSyntaxError
    from mnc.mncore_backend.assembly.parser import parse_line, parse_program
    from mnc.mncore_backend.assembly.printer import print_expression, print_program, print_statement

_HOME = {
    "AsmSyntaxError": "errors",
    "parse_line": "parser",
    "parse_program": "parser",
    "print_expression": "printer",
    "print_program": "printer",
    "print_statement": "printer",
}

__all__ = ["AsmSyntaxError", "parse_line", "parse_program", "print_expression", "print_program", "print_statement"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
