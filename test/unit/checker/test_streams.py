"""Messages, modes, positions, formats, speed, and the commands."""

import json
import random
from pathlib import Path

import pytest
from assembly.strategies import STATEMENTS
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from project.work import work

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.assembly.records import Statement
from mnc.mncore_backend.checker import CheckOptions, Severity, check_program, check_stream, check_text
from mnc.mncore_backend.checker.output import to_json, to_sarif, to_text
from mnc.tools.commands.asm import command


def test_a_finding_reads_like_a_compiler_message() -> None:
    (finding,) = check_text("zero $lr0v\n  nop # x\nzero $ln0; gmmul $lx $lr0 $ls0\nlpassa $ln0 $lr0")[:1]
    assert finding.render("a.vsm").splitlines() == [
        "a.vsm:4:1: error: read of LM1 1 statement after line 3 (LM write => read of the same LM, port conflict); "
        "3 needed [hazard-9a]",
        "a.vsm:3:1: note: the other statement involved",
        "  hint: put 2 more steps between (nop/2 at worst)",
    ]


def test_columns_point_at_the_expression() -> None:
    found = check_text("  zero $ln0 ;  gmmul $lx $lr0 $ls512 # ; x")
    assert [(f.line, f.column, f.rule) for f in found] == [(1, 16, "address-range")]


def test_without_source_text_columns_are_one() -> None:
    assert check_program(parse_program("nop\nzero $ls0; lpassa $aluf $ln0"))[0].column == 1


def test_a_missing_wait_is_a_warning_where_an_mv_completes_at_issue() -> None:
    text = "mvp/n64 $p0@0 $lc0@0.0\nl2bmb $lc0 $lb0"
    assert [f.severity for f in check_text(text)] == [Severity.ERROR]
    assert [f.severity for f in check_text(text, options=CheckOptions(vendor=True))] == [Severity.WARNING]
    together = "mvp/n64 $p0@0 $lc0@0.0\nmvp/n64 $lc0@0.0 $d0@0"
    assert [f.rule for f in check_text(together)] == ["mv-conflict"]
    assert not check_text(together, options=CheckOptions(vendor=True))


def test_distances_count_steps_not_lines() -> None:
    spaced = "zero $lr0\n# comment\n\nmvnop\nmaskr 0\nnop\nlpassa $lr0 $ls0"
    assert [f.rule for f in check_text(spaced)] == ["hazard-9b"]
    assert not check_text("zero $lr0\nnop/2\nlpassa $lr0 $ls0")


def test_nothing_behind_quit_is_checked() -> None:
    assert not check_text("quit\nlpassa $aluf $lr0")


def test_published_patterns_are_accepted() -> None:
    """Fragments that the vendor's assembler takes."""
    accepted = (
        "lpassa/$imr1 $ls2 $nowrite\nl1bmrdfadd $aluf $lb0",
        "hvadd $llm0vr $mreadf $omr1".replace("$mreadf", "$t") + "\nlpassa $llr0v $lln0v/$llimr1",
        "dmmulu $lx $lr0v $nowrite\ndmfmad $lx $lr0v $mauf $ln0v",
        "dmwrite $lr0v $lx0\ndmmulu $lx $lr8v $nowrite",
        "gmwrite $ls0v $lx0\ngmread $lx0 $ln0v; gmwrite $ls8v $ly0",
        "dvpassa $lmt0 $ln0v; lpassa $ls0v $t",
        "l2bmb $lc0 $lb0\nnop\nl1bmm $lb0 $lr0v",
        "l1bmm@0 $lln0v $llb0\nnop/2\nl2bmd $lb0 $lc0\nnop\nmvp/n256 $lc0@.0 $d0",
        "ladd $ln0 $lm2 $ln0",
        "maskn 1\nlpassa $lm8v $ln0v",
        "zero $lr0 $ls0 $lm0 $ln0 $t",
        "lpassa $lr0v $lm8v; l1bmm $lb0 $ls0v; gmmul $lx $ln0v $nowrite; l2bmb $lc0 $lb64; noforward",
    )
    for program in accepted:
        assert [f.render("x") for f in check_text(program) if f.severity is Severity.ERROR] == []


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENTS, max_size=10))
def test_any_program_gets_an_answer(statements: list[Statement]) -> None:
    for finding in check_stream(statements, CheckOptions(strict=frozenset({"all"}))):
        assert finding.message and finding.render("x").startswith("x:")


def _work(count: int) -> int:
    """Calls made to check so many lines."""
    source = random.Random(3)
    lines = []
    for i in range(count):
        a, b = 8 * i % 256, 2 * source.randrange(1000)
        c = (a + 128) % 256
        lines.append(
            f"gmfma $lx $lr{a}v $ls{a}v $ls{c}v; ladd $mauf $ls{a}v $lm{b}v; gmwrite $lr{a}v $ly0; l2bmb $lc0 $lb64"
        )
    statements = parse_program("gmmul $lx $lr0 $nowrite\n" + "\n".join(lines))
    found, calls = work(lambda: check_program(statements))
    assert not found
    return calls


def test_long_programs_take_work_in_proportion() -> None:
    _work(1_000)
    assert _work(50_000) < 11 * _work(5_000)


def test_transfers_without_a_wait_do_not_slow_down_what_follows() -> None:
    lines = [f"mvp/n64 $d{64 * i}@{i % 4} $lc{64 * i + 1024}@{i % 4}.0" for i in range(256)]
    steps = ["nop/9", *["l2bmb $lc0 $lb0"] * 40_000]

    def checked(text: list[str]) -> tuple[int, list[int]]:
        statements = parse_program("\n".join(text))
        found, calls = work(lambda: check_program(statements))
        return calls, [f.line for f in found if f.rule == "mv-unwaited"]

    plain, none = checked(steps)
    with_transfers, unwaited = checked([*lines, *steps, "l2bmb $lc1024 $lb0"])
    assert with_transfers < 2 * plain  # each of 256 transfers looked at in each step would take far longer
    assert not none
    assert unwaited == [len(lines) + len(steps) + 1]


BROKEN = "iadd $lr0v $lr4v $lr8v\nnop\nl2bmd $lb0 $lc0\nmvp/n64 $lc0@0.0 $d0@0\n"


def test_formats() -> None:
    results = {"a.vsm": check_text(BROKEN)}
    assert to_text(results).endswith("1 error, 0 warnings, 1 remark\n")
    assert to_text({"a.vsm": []}) == ""
    first, second = json.loads(to_json(results))
    assert (first["rule"], first["line"], first["severity"], first["open_point"]) == ("port-read", 1, "error", None)
    assert (second["rule"], second["related_line"], second["open_point"]) == ("hazard-1", 3, "OPEN-47")


def test_sarif_has_what_readers_need() -> None:
    log = json.loads(to_sarif({"a.vsm": check_text(BROKEN)}))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "a.vsm" and place["region"]["startLine"] >= 1
    assert run["results"][1]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 3


@pytest.mark.parametrize(("text", "options", "code"), [
    (BROKEN, [], 1),
    (BROKEN, ["--format", "sarif"], 1),
    ("nop\n", [], 0),
    ("l2bmd $lb0 $lc0\nmvp/n64 $lc0@0.0 $d0@0\n", [], 0),
    ("l2bmd $lb0 $lc0\nmvp/n64 $lc0@0.0 $d0@0\n", ["--strict", "47"], 1),
    ("lpassa $aluf $lr0\n", ["--allow", "OPEN-19"], 0),
    ("mvp/n64 $p0@0 $lc0@0.0\nl2bmb $lc0 $lb0\n", ["--mode", "vendor"], 0),
])  # fmt: skip
def test_exit_codes_of_check(tmp_path: Path, text: str, options: list[str], code: int) -> None:
    path = tmp_path / "a.vsm"
    path.write_text(text)
    result = CliRunner().invoke(command, ["check", *options, str(path)], catch_exceptions=False)
    assert result.exit_code == code
    assert code == 0 or str(path) in result.output


def test_bytes_that_are_no_text_are_one_message(tmp_path: Path) -> None:
    path = tmp_path / "a.vsm"
    path.write_bytes(b"\xff\xfe\x00")
    result = CliRunner().invoke(command, ["check", str(path)])
    assert isinstance(result.exception, CompileError)
    assert result.exception.exit_code == 2
    assert len(result.exception.render()) < 400


@pytest.mark.parametrize("content", [b"\x00\x01\x02", b"foo\n", b"nop\n\xef\xbb\xbfnop\n", b"nop/" + b"9" * 5000])
def test_malformed_input_is_one_finding(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.vsm"
    path.write_bytes(content)
    result = CliRunner().invoke(command, ["check", str(path)], catch_exceptions=False)
    assert result.exit_code == 2
    assert result.output.count("[syntax]") == 1 and len(result.output) < 500


def test_every_broken_line_is_reported_beside_what_single_statements_break() -> None:
    """Recovery at the end of the line; hazards and latches would tell nothing across missing lines."""
    text = "foo\nzero $lr0\nlpassa $lr0 $ls512\nladd $lr0\n  iadd $lr0v $lr4v $lr8v\nlpassa $aluf $ln0\nnop; x"
    found = [(f.line, f.column, f.rule) for f in check_text(text)]
    syntax = [(1, 1, "syntax"), (4, 10, "syntax"), (7, 6, "syntax")]
    assert found == sorted([*syntax, (3, 1, "address-range"), (5, 3, "port-read")])


def test_errors_and_warnings_have_a_limit() -> None:
    many = "\n".join(["foo", "lpassa $lr0 $ls512", "ffloor $lr0 $omr1"] * 50)
    options = CheckOptions(limit=3)
    assert len([f for f in check_text(many, options=options) if f.rule == "syntax"]) == 3
    checked = "\n".join(["ffloor $lr0 $omr1"] * 9 + ["lpassa $lr0 $ls512"] * 9)
    severities = [f.severity for f in check_text(checked, options=options)]
    assert severities == [Severity.WARNING] * 3 + [Severity.ERROR] * 3
    assert len(check_text(checked)) == 18


def test_max_errors_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "a.vsm"
    path.write_text("lpassa $lr0 $ls512\n" * 100_000)
    result, calls = work(lambda: CliRunner().invoke(command, ["check", str(path)], catch_exceptions=False))
    assert calls < 1_000_000
    assert result.exit_code == 1 and "100 errors, 0 warnings" in result.output
    assert "stopped after 100 errors of a file; --max-errors 0 shows all" in result.output
    few = CliRunner().invoke(command, ["check", "--max-errors", "2", str(path)], catch_exceptions=False)
    assert "2 errors, 0 warnings" in few.output
    path.write_text("lpassa $lr0 $ls512\n" * 150)
    good = tmp_path / "good.vsm"
    good.write_text("nop\n")
    every = CliRunner().invoke(command, ["check", "--max-errors", "0", str(path), str(good)], catch_exceptions=False)
    assert "150 errors, 0 warnings" in every.output and "stopped" not in every.output


def test_missing_file_and_bad_point() -> None:
    for arguments in (["check", "/no/such/file"], ["check", "--strict", "foo", __file__]):
        assert isinstance(CliRunner().invoke(command, arguments).exception, CompileError)


def test_lines_that_begin_with_c_are_passed_over(tmp_path: Path) -> None:
    """Transfers of the host that other tools write are no instructions; formatting keeps them."""
    path = tmp_path / "a.vsm"
    path.write_text("c 0 1 2\n  cAFE # x\nnop\n")
    assert CliRunner().invoke(command, ["check", str(path)]).exit_code == 0
    assert CliRunner().invoke(command, ["fmt", str(path)]).output == "c 0 1 2\n  cAFE # x\nnop\n"


def test_fmt(tmp_path: Path) -> None:
    path = tmp_path / "a.vsm"
    path.write_text("  ladd $lr0v2   $ls0 $lr8;zero $t /1000 ! x\n\n# y\nmvp/i02n64 $p0 $lc0@.0\n")
    wanted = "ladd $lr0v $ls0 $lr8; zero $t/1000  # x\n\n# y\nmvp/n64i02 $p0 $lc0@.0\n"
    run = CliRunner().invoke
    assert run(command, ["fmt", "--check", str(path)]).exit_code == 1
    assert run(command, ["fmt", str(path)]).output == wanted
    assert run(command, ["fmt", "--in-place", str(path)]).exit_code == 0
    assert path.read_text() == wanted
    assert run(command, ["fmt", "--check", str(path)]).exit_code == 0
