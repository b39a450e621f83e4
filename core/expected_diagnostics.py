"""``--split-input-file`` and ``--verify-diagnostics``: test inputs that say what must go wrong.

An annotation reads ``expected-error @+1 {{part of the message}}``; the place is ``@+N``, ``@-N``,
``@above`` or ``@below`` (the next or previous line without an annotation), or the line itself. In
``expected-error-re {{no value '{{.+}}'}}`` the inner braces hold regular expressions, and the annotation ends its line.
"""

import re
from dataclasses import dataclass

from mnc.core.diagnostics import CompileError

_PLACE = r"\s*(?:@([+-]\d+|above|below|unknown))?\s*"
_ANNOTATION = re.compile(
    rf"expected-(error|warning|note|remark)(?:{_PLACE}\{{\{{(.*?)\}}\}}|-re{_PLACE}\{{\{{(.*)\}}\}}\s*$)"
)
_PATTERN = re.compile(r"\{\{(.*?)\}\}(?!\})")
_CURRENT_OPERATION = "see current operation:"
"""Begins a note that MLIR adds to errors about operations; ``mlir-opt`` switches it off for expected diagnostics."""
MARKER = "// -----"
"""Begins a line between two parts of an input."""


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
    pattern: re.Pattern[str] | None = None

    def fits(self, found: Found) -> bool:
        """Whether `found` is what this annotation asks for."""
        if self.severity != found.severity or self.line != found.line:
            return False
        return self.pattern.search(found.message) is not None if self.pattern else self.text in found.message


def split_input(text: str, marker: str = MARKER) -> list[str]:
    """Parts between lines that begin with `marker`, each padded with newlines so that line numbers stay right."""
    parts, start = [], 0
    separator = re.compile(rf"^{re.escape(marker)}[^\n]*$", re.MULTILINE)
    for match in (*separator.finditer(text), None):
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


def _compiled(text: str, line: int) -> re.Pattern[str]:
    """``no value '{{.+}}'``: literal text around regular expressions."""
    pieces = _PATTERN.split(text)
    try:
        return re.compile("".join(f"(?:{piece})" if i % 2 else re.escape(piece) for i, piece in enumerate(pieces)))
    except re.error as error:
        message = f"line {line}: '{text}' holds no regular expression: {error}"
        raise CompileError(message, hint="write expected-error-re {{text {{expression}} text}}") from None


def expected_diagnostics(text: str) -> list[Expected]:
    """Every annotation of `text`, with the line (from 1) it points at; 0 for ``@unknown``.

    Raises:
        CompileError: a regular expression is malformed.
    """
    lines = text.split("\n")
    out = []
    for index, line in enumerate(lines):
        for severity, plain_place, plain, place_of_pattern, text_of_pattern in _ANNOTATION.findall(line):
            place, message = plain_place or place_of_pattern, plain or text_of_pattern
            if place == "unknown":
                target = -1
            elif place in ("above", "below"):
                target = _nearest_plain_line(lines, index, -1 if place == "above" else 1)
            else:
                target = index + int(place or 0)
            pattern = _compiled(message, index + 1) if text_of_pattern else None
            out.append(Expected(severity, target + 1, message, index + 1, pattern))
    return out


def compare(expected: list[Expected], found: list[Found], only_expected: bool = False) -> list[tuple[int, str]]:
    """Complaints as (line, text): expected but not found, and, unless `only_expected`, found but not expected."""
    left = list(found)
    complaints = []
    for want in expected:
        hit = next((f for f in left if want.fits(f)), None)
        if hit is None:
            complaints.append((want.annotation_line, f'expected {want.severity} "{want.text}" was not produced'))
        else:
            left.remove(hit)
    if not only_expected:
        complaints += [(f.line, f"unexpected {f.severity}: {f.message}") for f in left if not _is_decoration(f)]
    return complaints


def _is_decoration(found: Found) -> bool:
    return found.severity == "note" and found.message.startswith(_CURRENT_OPERATION)
