"""What only the text shows: columns of expressions, and a spelling that the assembler may not take (OPEN-05)."""

from collections.abc import Iterator
from functools import lru_cache

from mnc.mncore_backend.checker.findings import CheckOptions, Finding, Severity
from mnc.mncore_backend.checker.rules import RULES


@lru_cache(4)  # a line of thousands of expressions may have as many findings
def columns(line: str) -> tuple[int, ...]:
    """Columns, from 1, at which the expressions of a line start."""
    text = line.split("#", 1)[0].split("!", 1)[0]
    starts: list[int] = []
    offset = 0
    for part in text.split(";"):
        starts.append(offset + len(part) - len(part.lstrip()) + 1)
        offset += len(part) + 1
    return tuple(starts)


def spelling_findings(source: str, options: CheckOptions) -> Iterator[Finding]:
    """``!`` comments, if OPEN-05 is strict. Semicolons at the end of lines stand in programs of the vendor."""
    rule = RULES["spelling"]
    severity = options.severity(rule.severity, rule.open_point)
    if severity is Severity.SILENT:
        return
    for number, line in enumerate(source.split("\n"), 1):
        code = line.split("#", 1)[0]
        mark = code.find("!")
        if mark >= 0:
            message, hint = "a comment that starts with !", "start comments with #"
            yield Finding(rule.identifier, severity, number, mark + 1, message, hint, 0, rule.open_point)
