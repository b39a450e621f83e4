"""Canonical spelling of a file, line by line, with its comments and blank lines kept."""

import re

from mnc.mncore_backend.assembly.parser import parse_line
from mnc.mncore_backend.assembly.printer import print_statement
from mnc.mncore_backend.assembly.records import Quit

_COMMENT = re.compile(r"[#!]")


def format_program(text: str, file_name: str = "<program>") -> str:
    """The program in canonical spelling: one blank between tokens, ``; `` between expressions, comments with ``#``.
    Lines after ``quit`` stay as they are. Raises `AsmSyntaxError`."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    result: list[str] = []
    for number, raw in enumerate(lines, 1):
        statement = parse_line(raw, number, file_name)
        comment = _comment(raw)
        if statement is None:
            result.append(raw.rstrip() if raw.lstrip().startswith("c") else comment)
            continue
        printed = print_statement(statement)
        result.append(f"{printed}  {comment}" if comment else printed)
        if isinstance(statement, Quit):
            result += [line.rstrip("\r") for line in lines[number:]]
            break
    return "".join(f"{line}\n" for line in result)


def _comment(raw: str) -> str:
    """The comment of a line, starting with ``#``; "" without one."""
    match = _COMMENT.search(raw)
    if match is None:
        return ""
    body = raw[match.end() :].rstrip()
    return f"#{body}"
