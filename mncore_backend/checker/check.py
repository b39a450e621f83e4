"""The checker: one pass over the statements, in order, with what it must remember of the past."""

from collections.abc import Iterable, Iterator

from mnc.mncore_backend import machine
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
from mnc.mncore_backend.checker.expression_rules import expression_reports
from mnc.mncore_backend.checker.findings import CheckOptions, Finding, Report, Severity
from mnc.mncore_backend.checker.hazard_rules import HazardTracker
from mnc.mncore_backend.checker.latch_rules import LatchTracker
from mnc.mncore_backend.checker.matrix_rules import BankTracker
from mnc.mncore_backend.checker.mv_rules import TransferTracker
from mnc.mncore_backend.checker.rules import RULES
from mnc.mncore_backend.checker.spelling import columns, spelling_findings
from mnc.mncore_backend.checker.step_rules import step_reports
from mnc.mncore_backend.checker.transfer_rules import mv_reports


class _Checker:
    """State of one pass."""

    def __init__(self, options: CheckOptions) -> None:
        self._options = options
        self._lines = options.source.split("\n") if options.source is not None else None
        self._step = 0
        self._masks: MaskSetting | None = None
        self._hazards = HazardTracker()
        self._latches = LatchTracker()
        self._banks = BankTracker()
        self._transfers = TransferTracker(vendor=options.vendor)

    def reports(self, statement: Statement) -> list[Report]:
        if isinstance(statement, Step):
            return self._check_step(statement.expressions, statement.line)
        if isinstance(statement, RepeatedNop):
            self._step += statement.count
            return []
        if isinstance(statement, Transfer):
            reads = [a for a in transfer_accesses(statement) if a.memory is Memory.L2BM and not a.write]
            hazards = self._hazards.transfer(reads, self._step)
            return [*mv_reports(statement), *hazards, *self._transfers.transfer(statement)]
        if isinstance(statement, MaskSetting):
            self._masks = statement if statement.kinds and statement.entry not in (0, 31) else None
            return _mask_setting(statement)
        return [] if isinstance(statement, Quit) else debug_reports(statement)

    def _check_step(self, expressions: tuple[Expression, ...], line: int) -> list[Report]:
        found: list[Report] = []
        for index, expression in enumerate(expressions):
            for report in expression_reports(expression):
                found.append(report._replace(expression=index))
        found += step_reports(expressions, self._masks)
        found += self._hazards.step(expressions, self._step, line, self._masks)
        found += self._latches.step(expressions, line)
        found += self._banks.step(expressions, line)
        found += self._transfers.step(expressions)
        self._step += 1
        return found

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
    if statement.entry < machine.MEMORIES[Memory.MASK].addresses:
        return []
    return [Report("mask-entry", f"mask register entry {statement.entry} does not exist", "entries are 0 to 31")]


def check_stream(statements: Iterable[Statement], options: CheckOptions | None = None) -> Iterator[Finding]:
    """Findings in the order of the statements. Memory stays constant whatever the length of the program."""
    options = options or CheckOptions()
    checker = _Checker(options)
    if options.source is not None:
        yield from spelling_findings(options.source, options)
    for statement in statements:
        for report in checker.reports(statement):
            finding = checker.finding(report, statement.line)
            if finding is not None:
                yield finding
        if isinstance(statement, Quit):
            return


def check_program(statements: Iterable[Statement], options: CheckOptions | None = None) -> list[Finding]:
    """All findings of a program."""
    return list(check_stream(statements, options))


def check_text(text: str, file_name: str = "<program>", options: CheckOptions | None = None) -> list[Finding]:
    """Parse and check; findings by line and column. Raises `AsmSyntaxError` for text that is not assembly."""
    options = options or CheckOptions()
    with_source = CheckOptions(options.strict, options.allow, options.vendor, text)
    return sorted(check_program(parse_program(text, file_name), with_source), key=lambda f: (f.line, f.column))
