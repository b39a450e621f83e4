"""Testcases and answers as people write them: line ends, comments in any language, blanks, expectations."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from project.work import work

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.emulator.judge import judge, parse_testcase
from mnc.tools.commands.judge import command

LONGS = "d set $lm0n0c0b0m0p0 2 3ff0000000000000c008000000000000\n"  # 1.0, -3.0
ANSWER = "lpassa $lm0v $ln0v\n"
GET = "d getd $ln0n0c0b0m0p0 2"


def passed(check: str, prepare: str = LONGS, answer: str = ANSWER) -> bool:
    return judge(parse_testcase(prepare + check), parse_program(answer)).passed


@pytest.mark.parametrize("comment", [
    "# expect=[1.0, -3.0]",
    "# expect=[1,-3]",
    "#expect=[1.0,-3.0]",
    "#   expect = [ 1.0 , -3.0 ]   atol = 1e-6",
    "# expect=[1.0, -3.0,] atol=0",
    "# expect=[1.05, -3.04] atol=0.1",
    "# expect=[1.05, -3.04] atol=1e-1, rtol=0",
    "# atol=0.1 expect=[1.05, -3.04]",
    "# expect=[1.01, -3.01] rtol=0.02",
    "# expect=[1e0, -3E+0] rtol=1e-3 atol=1e-3",
    "# expect=[0x3ff0000000000000, 0xC008000000000000]",
    "# expect=[0x3FF0000000000000, -3.0]",
    "# expect=[4607182418800017408, -4609434218613702656] dtype=int64",
    "# expect=[4607182418800017408, 13837309855095848960] dtype=uint64",
    "# expect=[1072693248, 0, 3221749760, 0] dtype=uint32",
    "# expect=[1072693248, 0, -1073217536, 0] dtype=int32 atol=0",
    "# expect=[16368, 0, 0, 0, -16376, 0, 0, 0] dtype=int16",
    "# expect=[1.0, -3.0] dtype=float64",
    "# expect=[1.875, 0, -2.125, 0] dtype=float32 atol=1e-6",
    "# 期待値 expect=[1.0, -3.0] atol=1e-9 誤差",
    "\t# expect=[1.0,\t-3.0]",
    "# expect=[1.0, -3.0] \r",
])  # fmt: skip
def test_expectations(comment: str) -> None:
    assert passed(f"{GET} {comment}\n")


@pytest.mark.parametrize("comment", [
    "# expect=[1.0, -3.1]",
    "# expect=[1.2, -3.0] atol=0.1",
    "# expect=[1.03, -3.0] rtol=0.02",
    "# expect=[0x3ff0000000000001, -3.0] atol=1",
    "# expect=[inf, -3.0] atol=1e9",
    "# expect=[nan, -3.0] atol=1e9",
    "# expect=[1072693249, 0, -1073217536, 0] dtype=int32",
])  # fmt: skip
def test_expectations_that_do_not_hold(comment: str) -> None:
    assert not passed(f"{GET} {comment}\n")


@pytest.mark.parametrize(
    "comment", ["# expect=[1.0, two]", "# expect=[1, 2] dtype=int8", "# expect=[1, 2] atol=x", "# expect=[1, 2, 3]"]
)
def test_expectations_that_cannot_be_read(comment: str) -> None:
    with pytest.raises(CompileError) as caught:
        passed(f"{GET} {comment}\n")
    assert ":2" in caught.value.render()


@pytest.mark.parametrize(("comment", "message"), [
    ("# expect=[1.0, -3.0", "neither [values]"),
    ('# expect="text', "neither [values]"),
    ("# expect=(1.0, -3.0)", "neither [values]"),
    ("# expect: [1.0, -3.0]", "neither [values]"),
    ("# expect [1.0, -3.0]", "neither [values]"),
    ("# expected=", "no value"),
    ("# expct=[1.0, -3.0]", "did you mean 'expect'"),
    ("# Expect=[1.0, -3.0]", "did you mean 'expect'"),
    ("# expect=[1.0, -3.0] atoll=0.1", "did you mean 'atol'"),
    ("# expect=[1.0, -3.0] rtol=", "'rtol' has no value"),
])  # fmt: skip
def test_misspelt_expectation_beside_a_good_one_is_not_ignored(comment: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_testcase(f"{LONGS}{GET} # expect=[1.0, -3.0]\n{GET} {comment}\n", "case.vsm")
    assert caught.value.render().startswith("case.vsm:3") and message in caught.value.render()


@pytest.mark.parametrize(
    "comment", ["# as expected", "# x = [1, 2]", "# what we expect is 4", "# 期待値=[1, 2]", "# total = 3"]
)
def test_other_comments_say_what_they_like(comment: str) -> None:
    assert passed(f"{GET} # expect=[1.0, -3.0]\n{GET} {comment}\n")


def test_wrong_number_of_values_names_the_testcase() -> None:
    with pytest.raises(CompileError, match=r"case\.vsm:2"):
        judge(parse_testcase(f"{LONGS}{GET} # expect=[1, 2, 3]\n", "case.vsm"), parse_program(ANSWER), "answer.vsm")


@pytest.mark.parametrize(
    ("get", "values"),
    [
        ("d getf $ln0n0c0b0m0p0 1", "[1.875, 0]"),
        ("d geth $ln0n0c0b0m0p0 1", "[1.96875, 0, 0, 0]"),
        ("d get $ln0n0c0b0m0p0 1", "[4607182418800017408]"),
        ("d getf $n0n0c0b0m0p0 1", "[1.875]"),
        ("d getd $lln0n0c0b0m0p0 1", "[1, -3]"),
        ("d getd $ln0n0c0b0m0 1", "[1, 0, 0, 0]"),
        ("d getbf $ln0n0c0b0m0p0 1", "[1.75, 0]"),
        ("d getbd $ln0n0c0b0m0p0 1", "[0]"),
    ],
)
def test_every_dtype_and_width(get: str, values: str) -> None:
    assert passed(f"{get} # expect={values}\n")


STYLES = {
    "crlf": "lpassa $lm0v $ln0v\r\nnop\r\n",
    "no newline at the end": "lpassa $lm0v $ln0v",
    "blank lines and tabs": "\n\n\t \n\tlpassa\t$lm0v\t $ln0v \t\n\n",
    "comments": "# 答え\nlpassa $lm0v $ln0v # コピー ; nop\n   #\n! 旧式\n",
    "several expressions": "nop\nlpassa $lm0v $ln0v;noforward ;   l1bmm@0 $lm0v $lb0\n",
    "trailing semicolon": "lpassa $lm0v $ln0v;\n",
    "mask statements and a detached mask": "mask 0\nmaskn 0\nlpassa $lm0v $ln0v /1100\n",
    "quit": "lpassa $lm0v $ln0v\nquit\nthis is no assembly\n",
    "debug lines in between": "d getd $lm0n0c0b0m0p0 1\nlpassa $lm0v $ln0v\n",
    "transfers of the host": "c 0 12 34\nlpassa $lm0v $ln0v\ncopy whatever\n",
    "repeated nop": "lpassa $lm0v $ln0v\nnop/24\nmvnop\n",
    "a hazard": "lpassa $lm0v $lr0v\nlpassa $lr0v $ln0v\n",
    "wait for a host transfer": "lpassa $lm0v $ln0v; wait i3f\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_styles_of_answers(style: str) -> None:
    assert passed(f"{GET} # expect=[1.0, -3.0]\n", answer=STYLES[style])


def test_upper_case_is_refused_with_the_spelling_that_is_meant() -> None:
    with pytest.raises(CompileError, match="did you mean lpassa"):
        parse_program("LPASSA $lm0v $ln0v")


def test_the_command_takes_files_of_windows_with_japanese_comments(tmp_path: Path) -> None:
    case, answer = tmp_path / "テスト.vsm", tmp_path / "答え.vsm"
    case.write_bytes(f"# 準備\r\n{LONGS.strip()}\r\n\r\n{GET} # expect=[1.0, -3.0] 期待\r\n".encode())
    answer.write_bytes(STYLES["crlf"].encode())
    result = CliRunner().invoke(command, [str(case), str(answer)])
    assert result.exit_code == 0, result.output
    assert "PASS: 2 of 2 elements as expected" in result.output


def test_megabytes_with_comments_and_line_ends_of_windows() -> None:
    """20,000 debug lines, 4 MB."""
    lines = []
    for i in range(10_000):
        where = f"$lm{16 * (i // 512)}n0c1b{i // 64 % 8}m{i // 4 % 16}p{i % 4}"
        payload = " ".join(f"{(i << 32) + k:016X}" for k in range(8))
        lines.append(f"d set {where} 8 {payload} # 行 {i}")
    lines += [line.replace("d set", "d getd").split(" 8 ")[0] + f" 2 # expect=[0x{i << 32:x}, 0x{(i << 32) + 1:x}]"
              for i, line in enumerate(lines)]  # fmt: skip
    text = "\r\n".join(lines)
    assert len(text) > 2_000_000
    verdict, calls = work(lambda: judge(parse_testcase(text), []))
    assert verdict.passed and verdict.compared == 20_000
    assert calls < 200 * len(lines)
