"""What a check reports, and how severe a point is that no document settles."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """A remark is something to know, nothing to mend. `SILENT` findings exist only when their OPEN point is made
    strict."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule. `related_line` is the other line involved, 0 if there is none. Lines and columns count from 1;
    column 1 if the source text is not at hand."""

    rule: str
    severity: Severity
    line: int
    column: int
    message: str
    hint: str
    related_line: int = 0
    open_point: str = ""

    def render(self, file_name: str) -> str:
        """``file:line:col: error: message [rule]`` with the hint, and the related line, on lines of their own."""
        text = f"{file_name}:{self.line}:{self.column}: {self.severity}: {self.message} [{self.rule}]"
        if self.open_point:
            text += f" ({self.open_point})"
        if self.related_line and self.related_line != self.line:
            text += f"\n{file_name}:{self.related_line}:1: note: the other statement involved"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class Report(NamedTuple):
    """A finding before it has a position: `expression` is the index within the step, -1 for the whole statement.
    Severity and OPEN point are those of the rule unless given."""

    rule: str
    message: str
    hint: str
    expression: int = -1
    related_line: int = 0
    severity: Severity | None = None
    open_point: str | None = None


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """
    strict   OPEN-nn points whose findings become errors, silent ones included; "all" for every point
    allow    OPEN-nn points whose findings are dropped
    vendor   as the vendor's emulator, where an MV completes where it stands: a missing wait is a warning, and MVs in
             flight together are nothing to report
    source   text of the program, for columns and for checks of spelling
    limit    errors, and again warnings, after which a check stops looking for more of them; 0: no limit
    """

    strict: frozenset[str] = field(default_factory=frozenset)
    allow: frozenset[str] = field(default_factory=frozenset)
    vendor: bool = False
    source: str | None = None
    limit: int = 0

    def severity(self, default: Severity, open_point: str) -> Severity:
        """Severity of a finding that hangs on an OPEN point ("" for none)."""
        if not open_point:
            return default
        if open_point in self.allow:
            return Severity.SILENT
        return Severity.ERROR if open_point in self.strict or "all" in self.strict else default
