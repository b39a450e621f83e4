"""Every rule: a program that breaks it and a neighbour that does not."""

import pytest

from checker.sequence_cases import SEQUENCE_CASES
from checker.step_cases import STEP_CASES
from mnc.mncore_backend.checker import RULES, CheckOptions, Finding, Severity, check_text

ALL = CheckOptions(strict=frozenset({"all"}))

CASES = {**STEP_CASES, **SEQUENCE_CASES}


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
