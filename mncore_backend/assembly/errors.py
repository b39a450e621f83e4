"""The error of the assembly parser."""

import re

from mnc.core.diagnostics import CompileError


class AsmSyntaxError(CompileError):
    """Text that is not MN-Core 2 assembly.

    Args:
        line: line number, from 1.
        column: column of the offending token, from 1.
        token: the offending token, "" at the end of the line.
        expected: what would have been legal there.
        file_name: name of the source.
    """

    def __init__(self, line: int, column: int, token: str, expected: str, file_name: str = "<program>") -> None:
        shown = f"'{_readable(token)}'" if token else "the end of the line"
        self.reason = f"expected {expected}, got {shown}"
        super().__init__(self.reason, location=f"{file_name}:{line}:{column}")
        self.line = line
        self.column = column
        self.token = token
        self.expected = expected
        self.file_name = file_name


class TokenError(Exception):
    """Internal: a token at fault, before its position is known. `token` must be a part of the text parsed; `offset`
    is its distance from the start of that text, -1 if it has to be searched."""

    def __init__(self, token: str, expected: str, offset: int = -1) -> None:
        super().__init__(token, expected)
        self.token = token
        self.expected = expected
        self.offset = offset


def locate(text: str, token: str) -> int:
    """Offset of a token in a text: where it stands as a whole token, else its first occurrence, else 0; behind the
    text if it is empty."""
    if not token:
        return len(text.rstrip())
    match = re.search(rf"(?<![^\s;/]){re.escape(token)}(?![^\s;])", text)
    return match.start() if match else max(text.find(token), 0)


def _readable(token: str) -> str:
    """The token on one line, without control characters, at most 60 characters."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in token[:60])
    return text + ("..." if len(token) > 60 else "")
