"""Every rule: a program that breaks it and a neighbour that does not."""

import pytest

from mnc.mncore_backend.checker import RULES, CheckOptions, Finding, Severity, check_text
from mnc.mncore_backend.checker.examples import EXAMPLES
from mnc.mncore_backend.checker.output import to_text

ALL = CheckOptions(strict=frozenset({"all"}))

CASES = EXAMPLES


def findings(program: str, options: CheckOptions) -> list[Finding]:
    return check_text(program.replace("|", "\n"), options=options)


def rules(program: str, options: CheckOptions = ALL) -> set[str]:
    return {f.rule for f in findings(program, options)}


def test_every_rule_has_cases() -> None:
    assert set(CASES) == set(RULES)


@pytest.mark.parametrize(("rule", "program"), [(r, bad) for r, cases in CASES.items() for bad, _ in cases])
def test_the_rule_is_broken(rule: str, program: str) -> None:
    found = [f for f in findings(program, ALL) if f.rule == rule]
    assert len(found) == 1
    finding = found[0]
    lines = program.split("|")
    assert finding.severity is Severity.ERROR
    assert finding.message and finding.hint
    assert 1 <= finding.line <= len(lines)
    assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1
    if rule.startswith("hazard") or finding.related_line:
        assert 1 <= finding.related_line < finding.line


@pytest.mark.parametrize(("rule", "program"), [(r, good) for r, cases in CASES.items() for _, good in cases])
def test_the_neighbour_keeps_it(rule: str, program: str) -> None:
    assert rule not in rules(program)


@pytest.mark.parametrize("rule", [r for r, row in RULES.items() if row.open_point])
def test_an_open_point_can_be_allowed(rule: str) -> None:
    point = RULES[rule].open_point
    allow = CheckOptions(strict=frozenset({"all"}), allow=frozenset({point}))
    default, strict = CheckOptions(), CheckOptions(strict=frozenset({point}))
    for program, _ in CASES[rule]:
        assert rule not in rules(program, allow)
        severities = {f.severity for f in findings(program, default) if f.rule == rule}
        assert severities <= {RULES[rule].severity}
        assert {f.severity for f in findings(program, strict) if f.rule == rule} == {Severity.ERROR}


@pytest.mark.parametrize(("program", "severity"), [
    ("zero $r0/$imr1|nop|ipassa $r0 $s0", Severity.WARNING),
    ("maskr 1|zero $r0|nop|ipassa $r0 $s0|mask 0", Severity.WARNING),
    ("zero $r0/1111|nop|ipassa $r0 $s0", Severity.ERROR),
    ("maskr 0|zero $r0|nop|ipassa $r0 $s0", Severity.ERROR),
])  # fmt: skip
def test_19_row_9b_only_warns_behind_a_run_time_mask(program: str, severity: Severity) -> None:
    assert [f.severity for f in findings(program, CheckOptions())] == [severity]


@pytest.mark.parametrize("program", [
    "ipassa $m0 $r0|ipassa $m0 $r0/$imr1|ipassa $r0 $s0",
    "l1bmm@0 $lr0v $lb0|l1bmm@0 $lr0v $lbi|l1bmm $lb64 $ls0v",
    "l2bmb $lc0 $lb0|l2bmd $lc0 $lb48|l1bmm $lb36 $ls0v",
])  # fmt: skip
def test_19_a_warning_hides_no_error_of_an_earlier_step(program: str) -> None:
    errors = [f for f in findings(program, CheckOptions()) if f.severity is Severity.ERROR]
    assert [(f.line, f.related_line) for f in errors] == [(3, 1)]


def test_11_an_mv_taken_as_finished_hides_no_mv_that_may_still_run() -> None:
    apart = "mvp/n64 $p0@0 $lc0@0.0|mvp/n64 $d0 $lc64@.0|mvp/n64i01 $d64 $lc1024@.0|nop; wait i01|"
    for transfer in ("l2bmd $lc0 $lb0", "l2bmd $lb0 $lc0"):
        found = [f for f in findings(apart + transfer, CheckOptions()) if f.rule.startswith("mv-")]
        assert [(f.rule, f.line, f.related_line) for f in found] == [("mv-unwaited", 5, 1)]


def test_19_row_1_is_a_remark_at_gap_0() -> None:
    program = "l2bmd $lb0 $lc0|mvp/n64 $lc0@0.0 $d0@0"
    assert [f.severity for f in findings(program, CheckOptions())] == [Severity.REMARK]


@pytest.mark.parametrize(("program", "severity"), [
    ("mvp/n64i9f $p0@0 $d0@0|nop; wait i9f", Severity.WARNING),  # OPEN-51
    ("mvp/n64i9f $p0@0 $d0@0|nop; wait iff", Severity.WARNING),
    ("mvp/n64i01 $p0@0 $d0@0|mvp/n64 $p64@0 $d64@0", Severity.REMARK),  # OPEN-52
    ("maskr 1|zero $lr0", Severity.WARNING),  # OPEN-53
])  # fmt: skip
def test_23_1_points_that_only_warn_or_remark(program: str, severity: Severity) -> None:
    found = findings(program, CheckOptions())
    assert found and all(f.severity in (severity, Severity.REMARK) for f in found)
    assert any(f.severity is severity for f in found)


def test_5_1_a_semicolon_at_the_end_is_fine() -> None:
    assert not findings("nop;|zero $lr0 ;", ALL)


def test_remarks_are_counted_apart() -> None:
    text = to_text({"x": findings("maskr 1|mvp/n64i01 $p0@0 $d0@0", CheckOptions())})
    assert text.splitlines()[-1] == "0 errors, 1 warning, 1 remark"
