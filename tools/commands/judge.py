"""mnc judge: run an answer against a testcase of debug statements."""

import click

from mnc.core.command_line import read_text
from mnc.core.diagnostics import CompileError

MISMATCHES_SHOWN = 10
FINDINGS_SHOWN = 100


@click.command()
@click.argument("testcase")
@click.argument("answer")
@click.option("--mode", type=click.Choice(["strict", "vendor"]), default="vendor", show_default=True)
@click.option("--findings/--no-findings", default=True, help="Print what the static checker says about ANSWER.")
def command(testcase: str, answer: str, mode: str, findings: bool) -> None:
    """Run ANSWER between the `d set` lines of TESTCASE and its `d get ... # expect=[...] atol=...` lines.

    Prints pass or fail with the first mismatches, the score (PE lines and MV lines) and the findings of the checker.
    Exit code 0: passed; 1: failed; 2: a file cannot be read, is not assembly or cannot be executed.
    """
    from mnc.mncore_backend.assembly.parser import parse_program
    from mnc.mncore_backend.emulator.judge import Expectation, Verdict, judge, parse_testcase

    answer_text = read_text(answer)
    case = parse_testcase(read_text(testcase), testcase)
    statements = parse_program(answer_text, answer)
    if not any(isinstance(item, Expectation) for item in case.check):
        hint = "the testcase comes first, then the answer; it has lines such as: d get $lm0n0c0b0m0p0 1 # expect=[1, 2]"
        raise CompileError("the testcase expects nothing", location=testcase, hint=hint)
    verdict: Verdict = judge(case, statements, answer, mode)
    for line in verdict.dump:
        click.echo(line)
    if findings:
        _print_findings(answer_text, answer, mode)
    for mismatch in verdict.mismatches[:MISMATCHES_SHOWN]:
        click.echo(
            f"{testcase}:{mismatch.line}: element {mismatch.index}: expected {mismatch.expected:g}, "
            f"found {mismatch.found:g} ({mismatch.pattern})"
        )
    hidden = len(verdict.mismatches) - MISMATCHES_SHOWN
    if hidden > 0:
        click.echo(f"... and {hidden} more")
    counts = verdict.statistics
    good = verdict.compared - len(verdict.mismatches)
    click.echo(f"{'PASS' if verdict.passed else 'FAIL'}: {good} of {verdict.compared} elements as expected")
    click.echo(f"score: {counts.score} lines ({counts.steps} PE + {counts.mv_lines} MV), {counts.cycles} cycles")
    if not verdict.passed:
        click.get_current_context().exit(1)


def _print_findings(text: str, name: str, mode: str) -> None:
    from mnc.mncore_backend.checker import CheckOptions, check_text

    for finding in check_text(text, name, CheckOptions(vendor=mode == "vendor", limit=FINDINGS_SHOWN)):
        click.echo(finding.render(name))
