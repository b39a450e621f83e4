"""mnc judge: run an answer against a testcase of debug statements."""

from typing import TYPE_CHECKING

import click

from mnc.core import events
from mnc.core.command_line import read_text
from mnc.core.diagnostics import CompileError
from mnc.tools.commands.machine_option import machine_option
from mnc.tools.json_output import format_option, print_json

if TYPE_CHECKING:
    from mnc.mncore_backend.checker.findings import Finding
    from mnc.mncore_backend.emulator.judge import Verdict

MISMATCHES_SHOWN = 10
FINDINGS_SHOWN = 100
WARNINGS_SHOWN = 10


@click.command()
@click.argument("testcase")
@click.argument("answer")
@click.option("--mode", type=click.Choice(["strict", "vendor"]), default="vendor", show_default=True,
              help="How strict the emulator is; vendor is what the contest uses.")  # fmt: skip
@click.option("--findings/--no-findings", default=True, help="Print what the static checker says about ANSWER.")
@click.option(
    "--fail-on-findings", is_flag=True, help="Fail on what an assembler would refuse, even if all values are right."
)
@machine_option
@format_option()
def command(
    testcase: str, answer: str, mode: str, findings: bool, fail_on_findings: bool, output_format: str
) -> None:
    """Run ANSWER inside TESTCASE and compare what it leaves in memory.

    ANSWER is put where TESTCASE says `# ======= YOUR VSM WILL BE INSERTED HERE =======`, or before its first `d get`.
    Lines behind it say what is expected: `d getd ... # expect=[...] / Float @[0],[1] atol=...`.

    Prints pass or fail with the first mismatches, the score (lines of PEs and of MVs) and the findings of the checker.
    Exit code 0: passed; 1: failed; 2: a file cannot be read, is not assembly or cannot be executed.
    """
    from mnc.mncore_backend.assembly.parser import parse_program
    from mnc.mncore_backend.emulator.expectations import Expectation
    from mnc.mncore_backend.emulator.judge import judge, parse_testcase

    answer_text = read_text(answer)
    case = parse_testcase(read_text(testcase), testcase)
    statements = parse_program(answer_text, answer)
    if not any(isinstance(item, Expectation) for item in case.check):
        hint = "the testcase comes first, then the answer; it has lines such as: d get $lm0n0c0b0m0p0 1 # expect=[1, 2]"
        raise CompileError("the testcase expects nothing", location=testcase, hint=hint)
    for line, text in case.warnings[:WARNINGS_SHOWN]:
        click.echo(f"{testcase}:{line}: warning: {text}", err=True)
    with events.span("stage", "emulator"):
        verdict = judge(case, statements, answer, mode)
    if output_format == "json":
        _print_json(verdict, answer_text, answer, mode, fail_on_findings)
        return
    for line in verdict.dump:
        click.echo(line)
    refused = _findings(answer_text, answer, mode, shown=findings) if findings or fail_on_findings else 0
    passed = verdict.passed and not (fail_on_findings and refused)
    _print_verdict(verdict, testcase, answer, refused if fail_on_findings else 0, passed=passed)
    if passed:
        counts = verdict.statistics
        size = len(answer_text.encode())
        click.echo(f"ACCEPTED!! score={counts.score} j={counts.steps} m={counts.mv_lines} bytes={size}")
    else:
        click.get_current_context().exit(1)


def _print_json(verdict: "Verdict", text: str, answer: str, mode: str, fail_on_findings: bool) -> None:
    found, refused = _checked(text, answer, mode)
    passed = verdict.passed and not (fail_on_findings and refused)
    counts = verdict.statistics
    print_json({
        "passed": passed,
        "compared": verdict.compared,
        "mismatches": [{"line": one.line, "text": one.render()} for one in verdict.mismatches],
        "invalid": verdict.invalid or None,
        "score": counts.score, "steps": counts.steps, "mv_lines": counts.mv_lines, "cycles": counts.cycles,
        "bytes": len(text.encode()),
        "findings": [{"line": one.line, "rule": one.rule, "text": one.render(answer)} for one in found],
        "refused_by_an_assembler": refused,
        "dump": verdict.dump,
    })  # fmt: skip
    if not passed:
        click.get_current_context().exit(1)


def _print_verdict(verdict: "Verdict", testcase: str, answer: str, refused: int, *, passed: bool) -> None:
    """Mismatches, pass or fail, and the score."""
    for mismatch in verdict.mismatches[:MISMATCHES_SHOWN]:
        click.echo(f"{testcase}:{mismatch.line}: {mismatch.render()}")
    hidden = len(verdict.mismatches) - MISMATCHES_SHOWN
    if hidden > 0:
        click.echo(f"... and {hidden} more")
    if verdict.invalid:
        click.echo(f"INVALID: {answer}: {verdict.invalid}")
        return
    counts = verdict.statistics
    good = verdict.compared - len(verdict.mismatches)
    reason = f"; an assembler would refuse the answer for {refused} findings" if refused else ""
    click.echo(f"{'PASS' if passed else 'FAIL'}: {good} of {verdict.compared} elements as expected{reason}")
    click.echo(f"score: {counts.score} lines ({counts.steps} PE + {counts.mv_lines} MV), {counts.cycles} cycles")


def _findings(text: str, name: str, mode: str, *, shown: bool) -> int:
    """Print the findings of the checker, and count those that an assembler would refuse."""
    found, refused = _checked(text, name, mode)
    for finding in found if shown else ():
        click.echo(finding.render(name))
    return refused


def _checked(text: str, name: str, mode: str) -> "tuple[list[Finding], int]":
    """The findings of the checker, and how many of them an assembler would refuse."""
    from mnc.mncore_backend.checker import CheckOptions, Severity, check_text
    from mnc.mncore_backend.checker.rules import SEEN_BY_NO_ASSEMBLER

    found = check_text(text, name, CheckOptions(vendor=mode == "vendor", limit=FINDINGS_SHOWN))
    return found, sum(f.severity is Severity.ERROR and f.rule not in SEEN_BY_NO_ASSEMBLER for f in found)
