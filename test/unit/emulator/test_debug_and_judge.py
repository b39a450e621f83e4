"""Debug statements, recorded dumps, and the judge (SDM 3.4.3, 3.4.4)."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from project.work import work

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import EmulationError, Machine
from mnc.mncore_backend.emulator.judge import Verdict, judge, parse_testcase
from mnc.tools.commands.judge import command as judge_command

from .harness import random_longs

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.mark.parametrize("program", sorted(GOLDEN.glob("*.vsm")), ids=lambda path: path.stem)
def test_recorded_dumps(program: Path):
    machine = Machine("vendor")
    machine.run(program.read_text(), str(program))
    assert machine.dump == program.with_suffix(".dump").read_text().splitlines()


SETTABLE = ["$lc3n1c1", "$lb5n2c0b3", "$llb5n2c0b3", "$lm4n0c1b2m3p1", "$llm4n0c1b2m3p1", "$ln6n3c1b7m15p3",
            "$lr8n0c0b0m0p2", "$lls12n0c0b0m1p0", "$ltn0c0b0m0p0", "$lltn0c0b0m0p0"]  # fmt: skip


@pytest.mark.parametrize("operand", SETTABLE)
def test_set_then_get(operand: str):
    """Head first; the other instances stay as they were."""
    machine = Machine("strict")
    per_unit = 2 if operand.startswith("$ll") else 1
    values = [int(v) | 1 << 63 for v in random_longs((3 * per_unit,))]
    machine.run(f"d set {operand} 3 " + "".join(f"{v:016x}" for v in values) + f"\nd get {operand} 3")
    assert [int(line.partition("v:0x")[2].partition(")")[0], 16) for line in machine.dump] == values
    others = sum(int(np.count_nonzero(machine.longs(m))) for m in (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1))
    assert others + int(np.count_nonzero(machine.l1bm())) + int(np.count_nonzero(machine.l2bm())) <= 3 * per_unit


def test_single_words_store_the_msb_word():
    machine = Machine("vendor")
    machine.run("d set $r5n0c0b0m0p0 2 11111111222222223333333344444444\nd getf $r5n0c0b0m0p0 2")
    assert machine.peek_words(Memory.GRF0, 4, 4)[0, 0, 0, 0].tolist() == [0, 0x11111111, 0x33333333, 0]
    assert [line.split(":", 1)[0] for line in machine.dump] == [
        "DEBUG-GREG0(n0c0b0m0p0,5)",
        "DEBUG-GREG0(n0c0b0m0p0,6)",
    ]
    assert "(0x33333333)" in machine.dump[1]


@pytest.mark.parametrize("operand", ["$t", "$lt", "$llt"])
def test_20_1a_t_repeats_after_four_entries(operand: str):
    machine = Machine("vendor")
    machine.run("d set $llt 4 " + "".join(f"{i:016x}" for i in range(1, 9)) + f"\nd getf {operand}n0c0b0m0p0 8")
    per_entry = 2 if operand == "$llt" else 1
    values = [line.partition(":")[2].partition("#")[0] for line in machine.dump]
    assert len(values) == 8 * per_entry and values[: 4 * per_entry] == values[4 * per_entry :]
    assert len(set(values)) == 4 * per_entry or per_entry == 2
    addresses = [line.partition(",")[2].partition(")")[0] for line in machine.dump]
    assert addresses == [str(i // per_entry) for i in range(8 * per_entry)]


def test_omitted_levels_mean_all_outermost_slowest():
    machine = Machine("vendor")
    machine.run("lpassa $subpeid $lm0\nlpassa $l1bid $lm2\nd getd $lm0n1c1 2")
    scopes = [line[len("DEBUG-LM0(") :].split(")")[0] for line in machine.dump]
    assert scopes[:3] == ["n1c1b0m0p0,0", "n1c1b0m0p0,2", "n1c1b0m0p1,0"]
    assert scopes[-1] == "n1c1b7m15p3,2"
    assert len(scopes) == 8 * 16 * 4 * 2
    assert machine.dump[-1].endswith("(0x0000000000000007) #d getd $lm0n1c1 2")
    machine.run("d set $lm0p2 1 00000000000000ff")
    assert (machine.lm(0)[..., 2, 0] == 255).all()
    assert (machine.lm(0)[..., 3, 0] == 3).all()


def test_matrix_register_and_block_float_dump():
    machine = Machine("vendor")
    machine.run('imm f"1.0" $lm0v\nnop/2\ngbfn $lm0v $lr0v\nnop\ngmwrite $lr0v $lx0')
    machine.run("d getbg $lx0n0c0b0m0 1")
    text = "(1, 1) (0x3fc00000, 0x3fc00000) #d getbg $lx0n0c0b0m0 1"
    assert machine.dump == [f"DEBUG-MATX(n0c0b0m0p{pe},0):{text}" for pe in range(4)]
    with pytest.raises(EmulationError, match="dtype"):
        machine.run("d get $lx0n0c0b0m0 1")


@pytest.mark.parametrize("text", ["d set $lm0 2 0000000000000000", "d set $p0 1 0000000000000000", "d set $lm0 1 z",
                                  "d set $d0n0 1 0000000000000000", "d set $lm0 1 00",
                                  "d getd $lm0 9999999999", "d getd $lm0 2048", "d geth $d0 1048576",
                                  "mvp/n640000000000 $p0@0 $d0@0"])  # fmt: skip
def test_illegal_debug_statements(text: str):
    with pytest.raises(CompileError):
        Machine("vendor").run(text)


CASE = """\
d set $lm0n0c0b0m0p0 2 3ff00000000000004000000000000000
d set $ls0n0c0b0m0p0 1 3f80000040000000
# comment
d getd $ln0n0c0b0m0p0 2   # expect=[1.0, 2.0] atol=1e-6
d getf $ls8n0c0b0m0p0 1   # expect=[1, 2] atol=0
d get $ln0n0c0b0m0p0 1    # expect=[0x3ff0000000000000]
d getd $lm0n0c0b0m0p0 1
"""
ANSWER = "lpassa $lm0v $ln0v\nlpassa $ls0 $ls8\nnop/2\nmvnop\n"


def test_judge_passes_and_scores():
    verdict = judge(parse_testcase(CASE), parse_program(ANSWER))
    assert verdict.passed
    assert (verdict.compared, verdict.statistics.steps, verdict.statistics.mv_lines) == (5, 4, 1)
    assert verdict.statistics.score == 5


def test_judge_reports_the_first_mismatch():
    verdict: Verdict = judge(parse_testcase(CASE), parse_program("zero $ln0v\nlpassa $ls0 $ls8"))
    assert not verdict.passed
    first = verdict.mismatches[0]
    assert (first.line, first.index, first.expected, first.found) == (4, 0, 1.0, 0.0)
    assert len(verdict.mismatches) == 3


@pytest.mark.parametrize(
    ("value", "atol", "holds"), [(1.0, "1e-6", True), (1.1, "1e-6", False), (1.1, "0.2", True), (-1, "0", False)]
)
def test_judge_tolerance(value: float, atol: str, holds: bool):
    case = parse_testcase(f"d set $lm0 1 3ff0000000000000\nd getd $lm0n0c0b0m0p0 1 # expect=[{value}] atol={atol}")
    assert judge(case, []).passed is holds


@pytest.mark.parametrize(
    ("dtype", "values"), [("int64", "[-2]"), ("uint32", "[4294967295, 4294967294]"), ("int16", "[-1,-1,-1,-2]")]
)
def test_judge_reads_bits_as_the_named_type(dtype: str, values: str):
    case = f"d set $lm0 1 fffffffffffffffe\nd getd $lm0n0c0b0m0p0 1 # expect={values} atol=0 dtype={dtype}"
    assert judge(parse_testcase(case), []).passed


def test_judge_with_infinities_and_a_missing_expectation():
    case = parse_testcase("d set $lm0 1 7f800000ff800000\nd getf $lm0n0c0b0m0p0 1 # expect=[inf, -inf] atol=1e-3")
    assert judge(case, []).passed
    assert not judge(parse_testcase("d set $lm0 1 7f800000ff800000"), []).passed
    with pytest.raises(EmulationError, match="3 values expected"):
        judge(parse_testcase("d getf $lm0n0c0b0m0p0 1 # expect=[1,2,3]"), [])
    with pytest.raises(EmulationError, match="expectation"):
        parse_testcase("d getf $lm0n0c0b0m0p0 1 # expect=[1,two]")


def test_judge_command(tmp_path: Path):
    (tmp_path / "case.vsm").write_text(CASE)
    (tmp_path / "good.vsm").write_text(ANSWER)
    (tmp_path / "bad.vsm").write_text("zero $t\nlpassa $t $lr0v\n")
    runner = CliRunner()
    good = runner.invoke(judge_command, [str(tmp_path / "case.vsm"), str(tmp_path / "good.vsm")])
    assert good.exit_code == 0
    assert "PASS: 5 of 5 elements as expected\nscore: 5 lines (4 PE + 1 MV)" in good.output
    bad = runner.invoke(judge_command, [str(tmp_path / "case.vsm"), str(tmp_path / "bad.vsm")])
    assert bad.exit_code == 1
    assert "hazard-9c" in bad.output
    assert "case.vsm:4: element 0: expected 1, found 0 (0x0000000000000000)" in bad.output


def test_megabytes_of_debug_lines_take_few_calls_each():
    lines = [
        f"d set $lm{8 * (i // 512)}n0c0b{i // 64 % 8}m{i // 4 % 16}p{i % 4} 4 " + f"{i:016x}" * 4 for i in range(10000)
    ]
    lines += [
        f"d getd $lm{8 * (i // 512)}n0c0b{i // 64 % 8}m{i // 4 % 16}p{i % 4} 1 # expect=[0x{i:x}]" for i in range(10000)
    ]
    verdict, calls = work(lambda: judge(parse_testcase("\n".join(lines)), []))
    assert verdict.passed
    assert calls < 200 * len(lines)
