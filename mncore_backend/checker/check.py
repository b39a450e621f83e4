"""The checker: one pass over the statements, in order, with what it must remember of the past."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mnc.mncore_backend.assembly.errors import AsmSyntaxError
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import (
    Expression,
    MaskSetting,
    Memory,
    Quit,
    RepeatedNop,
    Statement,
    Step,
    Transfer,
)
from mnc.mncore_backend.checker.debug_rules import debug_reports
from mnc.mncore_backend.checker.end_rules import EndTracker
from mnc.mncore_backend.checker.expression_rules import expression_reports
from mnc.mncore_backend.checker.findings import CheckOptions, Finding, Report, Severity
from mnc.mncore_backend.checker.hazard_rules import HazardTracker
from mnc.mncore_backend.checker.latch_rules import LatchTracker
from mnc.mncore_backend.checker.matrix_rules import BankTracker
from mnc.mncore_backend.checker.mv_rules import TransferTracker
from mnc.mncore_backend.checker.profiles import Known, Profile, find_profile
from mnc.mncore_backend.checker.rules import RULES
from mnc.mncore_backend.checker.spelling import columns, spelling_findings
from mnc.mncore_backend.checker.step_rules import step_reports
from mnc.mncore_backend.checker.transfer_rules import mv_reports
from mnc.mncore_backend.target import chip


class _Checker:
    """State of one pass. Without `history` only rules of single statements are checked: lines that could not be read
    are missing, so that distances and latches would tell nothing."""

    def __init__(self, options: CheckOptions, *, history: bool) -> None:
        self._options = options
        self._history = history
        self._lines = options.source.split("\n") if options.source is not None else None
        self._step = 0
        self._masks: MaskSetting | None = None
        self._hazards = HazardTracker()
        self._latches = LatchTracker()
        self._banks = BankTracker()
        self._transfers = TransferTracker(vendor=options.vendor)
        self._end = EndTracker()
        self._quiet: dict[Profile, bool] = {}

    def reports(self, statement: Statement) -> list[Report]:
        if isinstance(statement, Step):
            return self._check_step(statement.expressions, statement.line)
        if isinstance(statement, RepeatedNop):
            self._step += statement.count
            return []
        if isinstance(statement, Transfer):
            if not self._history:
                return mv_reports(statement)
            reads = [a for a in transfer_accesses(statement) if a.memory is Memory.L2BM and not a.write]
            hazards = self._hazards.transfer(reads, self._step)
            self._end.transfer(statement)
            return [*mv_reports(statement), *hazards, *self._transfers.transfer(statement)]
        if isinstance(statement, MaskSetting):
            self._masks = statement if statement.kinds and statement.entry not in (0, 31) else None
            return _mask_setting(statement)
        return [] if isinstance(statement, Quit) else debug_reports(statement)

    def _quick_reports(self, found: Known, expressions: tuple[Expression, ...], line: int) -> list[Report] | None:
        """Reports about a step that its profile vouches for but for its waits and transfers; the step is remembered.
        None if the rules have to look."""
        profile, _ = found
        quiet = self._quiet.get(profile)
        if quiet is None:
            quiet = not profile.is_special and all(self.finding(report, line) is None for report in profile.reports)
            self._quiet[profile] = quiet
        if not quiet or not self._latches.holds(profile.latches):
            return None
        for bank, bits in profile.bank_reads:
            if not self._banks.fits(bank, bits):
                return None
        if profile.traffic.reads and not self._hazards.is_free(found, self._step):
            return None
        if profile.traffic.writes:
            self._hazards.remember(found, expressions, self._step, line)
        if profile.produced is not None:
            self._latches.replace(profile.produced, profile.turnaround, line)
        for bank, bits, mnemonic in profile.bank_writes:
            self._banks.write(bank, bits, mnemonic, line)
        self._step += 1
        if not profile.uses_upper:
            return []
        if profile.has_waits:
            self._end.step(expressions, line)
        return self._transfers.step(expressions, found)

    def _check_step(self, expressions: tuple[Expression, ...], line: int) -> list[Report]:
        known = find_profile(expressions) if self._history and self._masks is None else None
        if known is not None:
            quick = self._quick_reports(known, expressions, line)
            if quick is not None:
                return quick
        found: list[Report] = []
        for index, expression in enumerate(expressions):
            for report in expression_reports(expression):
                found.append(report._replace(expression=index))
        found += step_reports(expressions, self._masks)
        if not self._history:
            return found
        found += self._hazards.step(expressions, self._step, line, self._masks, known)
        found += self._latches.step(expressions, line)
        found += self._banks.step(expressions, line)
        found += self._transfers.step(expressions)
        self._end.step(expressions, line)
        self._step += 1
        return found

    def end_findings(self) -> Iterator[Finding]:
        """Findings about what the program leaves behind."""
        for line, report in self._end.reports(self._masks) if self._history else ():
            finding = self.finding(report, line)
            if finding is not None:
                yield finding

    def finding(self, report: Report, line: int) -> Finding | None:
        """The finding of a report, None if the options silence it."""
        rule = RULES[report.rule]
        point = rule.open_point if report.open_point is None else report.open_point
        severity = self._options.severity(report.severity or rule.severity, point)
        if severity is Severity.SILENT:
            return None
        column = 1
        if self._lines is not None and 0 < line <= len(self._lines):
            starts = columns(self._lines[line - 1])
            column = starts[max(report.expression, 0)] if report.expression < len(starts) else 1
        return Finding(report.rule, severity, line, column, report.message, report.hint, report.related_line, point)


def _mask_setting(statement: MaskSetting) -> list[Report]:
    if statement.entry < chip().memories[Memory.MASK].addresses:
        return []
    return [Report("mask-entry", f"mask register entry {statement.entry} does not exist", "entries are 0 to 31")]


class _Limit:
    """Lets through so many errors and so many warnings."""

    def __init__(self, limit: int) -> None:
        self._left: dict[Severity, int] = dict.fromkeys(Severity, limit or -1)

    def admits(self, finding: Finding) -> bool:
        """Whether there is room for a finding; takes the room."""
        if self._left[finding.severity] == 0:
            return False
        self._left[finding.severity] -= 1
        return True

    @property
    def is_reached(self) -> bool:
        """No further error is wanted."""
        return self._left[Severity.ERROR] == 0


def check_stream(
    statements: Iterable[Statement], options: CheckOptions | None = None, *, history: bool = True
) -> Iterator[Finding]:
    """Findings in the order of the statements. Memory stays constant whatever the length of the program. `history`
    False: only what is wrong with single statements."""
    options = options or CheckOptions()
    checker, limit = _Checker(options, history=history), _Limit(options.limit)
    if options.source is not None:
        yield from filter(limit.admits, spelling_findings(options.source, options))
    for statement in statements:
        reports = checker.reports(statement)
        if reports:
            for report in reports:
                finding = checker.finding(report, statement.line)
                if finding is not None and limit.admits(finding):
                    yield finding
            if limit.is_reached:
                return
        if isinstance(statement, Quit):
            break
    yield from filter(limit.admits, checker.end_findings())


def check_program(statements: Iterable[Statement], options: CheckOptions | None = None) -> list[Finding]:
    """All findings of a program."""
    return list(check_stream(statements, options))


def check_text(text: str, file_name: str = "<program>", options: CheckOptions | None = None) -> list[Finding]:
    """Parse and check; findings by line and column. A line that is not assembly is a finding, too (rule ``syntax``)."""
    options = replace(options or CheckOptions(), source=text)
    errors: list[AsmSyntaxError] = []
    statements = parse_program(text, file_name, errors)
    found = [_syntax_finding(error) for error in errors[: options.limit or None]]
    found += check_stream(statements, options, history=not errors)
    return sorted(found, key=lambda f: (f.line, f.column))


def _syntax_finding(error: AsmSyntaxError) -> Finding:
    hint = "the line is left out, and distances between statements are not checked"
    return Finding("syntax", Severity.ERROR, error.line, error.column, error.reason, hint)
