"""``--split-input-file`` and ``--verify-diagnostics``: test inputs that say what must go wrong.

An annotation reads ``expected-error @+1 {{part of the message}}``; the place is ``@+N``, ``@-N``,
``@above`` or ``@below`` (the next or previous line without an annotation), or the line itself.
"""

import re
from dataclasses import dataclass

_ANNOTATION = re.compile(r"expected-(error|warning|note|remark)\s*(?:@([+-]\d+|above|below|unknown))?\s*\{\{(.*?)\}\}")
_SEPARATOR = re.compile(r"^// -----[^\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """A diagnostic that was emitted; line 0 means that its place is unknown."""

    severity: str
    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Expected:
    """A diagnostic that an annotation asks for."""

    severity: str
    line: int
    text: str
    annotation_line: int


def split_input(text: str) -> list[str]:
    """Parts between ``// -----`` lines, each padded with newlines so that line numbers stay right."""
    parts, start = [], 0
    for match in (*_SEPARATOR.finditer(text), None):
        end = match.start() if match else len(text)
        parts.append("\n" * text.count("\n", 0, start) + text[start:end])
        start = match.end() if match else end
    return [part for part in parts if part.strip()] or [text]


def _nearest_plain_line(lines: list[str], index: int, step: int) -> int:
    """Index of the next line in direction `step` that holds no annotation."""
    index += step
    while 0 <= index < len(lines) and _ANNOTATION.search(lines[index]):
        index += step
    return index


def expected_diagnostics(text: str) -> list[Expected]:
    """Every annotation of `text`, with the line (from 1) it points at; 0 for ``@unknown``."""
    lines = text.split("\n")
    out = []
    for index, line in enumerate(lines):
        for severity, place, message in _ANNOTATION.findall(line):
            if place == "unknown":
                target = -1
            elif place in ("above", "below"):
                target = _nearest_plain_line(lines, index, -1 if place == "above" else 1)
            else:
                target = index + int(place or 0)
            out.append(Expected(severity, target + 1, message, index + 1))
    return out


def compare(expected: list[Expected], found: list[Found]) -> list[tuple[int, str]]:
    """Complaints as (line, text): expected but not found, found but not expected."""
    left = list(found)
    complaints = []
    for want in expected:
        hit = next(
            (f for f in left if f.severity == want.severity and f.line == want.line and want.text in f.message), None
        )
        if hit is None:
            complaints.append((want.annotation_line, f'expected {want.severity} "{want.text}" was not produced'))
        else:
            left.remove(hit)
    complaints += [(f.line, f"unexpected {f.severity}: {f.message}") for f in left]
    return complaints
