"""Testcases in the vendor's own notation (machine documents, section 20.1a "judged testcases")."""

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.emulator.element_types import TYPES
from mnc.mncore_backend.emulator.judge import INSERTION_LINE, OUTPUT_LINE, Verdict, judge, parse_testcase
from mnc.tools.commands.judge import command

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.judge import Testcase

GET = "d getd $lm0n0c0b0m0p0"


def longs(values: bytes) -> str:
    """``d set`` of bytes to LM0 of one PE."""
    assert len(values) % 8 == 0
    return f"d set $lm0n0c0b0m0p0 {len(values) // 8} {values.hex()}\n"


def case(*lines: str, values: bytes = b"") -> "Testcase":
    prepare = longs(values) if values else ""
    return parse_testcase("\n".join([prepare + INSERTION_LINE, OUTPUT_LINE, *lines]))


def verdict(*lines: str, values: bytes, answer: str = "") -> Verdict:
    return judge(case(*lines, values=values), parse_program(answer))


ONES = b"\xff" * 8
READINGS = [
    ("ULong", ONES, "[18446744073709551615]"),
    ("Long", ONES, "[-1]"),
    ("UInt", b"\x80\0\0\0\0\0\0\x05", "[2147483648, 5]"),
    ("Int", b"\x80\0\0\0\0\0\0\x05", "[-2147483648, 5]"),
    ("UShort", bytes.fromhex("ffff000180000002"), "[65535, 1, 32768, 2]"),
    ("Short", bytes.fromhex("ffff000180000002"), "[-1, 1, -32768, 2]"),
    ("UByte", bytes.fromhex("00017f80ff020304"), "[0, 1, 127, 128, 255, 2, 3, 4]"),
    ("Byte", bytes.fromhex("00017f80ff020304"), "[0, 1, 127, -128, -1, 2, 3, 4]"),
    ("Double", struct.pack(">d", 0.1), "[0.1]"),
    ("Float", struct.pack(">ff", 0.1, -2.5), "[0.1, -2.5]"),
    ("Half", bytes.fromhex("3e00bf000000fc00"), "[1.0, -1.5, 0, -2147483648.0]"),
    ("E4M3", bytes.fromhex("38b80001787f0877"), "[1, -1, 0, 0, inf, inf, 0.015625, 240]"),
    ("E5M2", bytes.fromhex("3cbc00037cff047b"), "[1, -1, 0, 0, inf, -inf, 6.103515625e-05, 57344]"),
]


@pytest.mark.parametrize(("name", "values", "wanted"), READINGS)
@pytest.mark.parametrize("dtype", ["d", "f", "h", ""])
def test_20_1a_types_read_the_bits_whatever_the_dtype(name: str, values: bytes, wanted: str, dtype: str) -> None:
    line = f"d get{dtype} $lm0n0c0b0m0p0 1 # expect={wanted} / {name}"
    found = verdict(line, values=values)
    assert found.passed, [m.render() for m in found.mismatches]
    for position in range(8):
        changed = bytes(byte ^ (0x40 if i == position else 0) for i, byte in enumerate(values))
        outcome = verdict(line, values=changed)
        assert not outcome.passed or name in ("E4M3", "E5M2", "Half")


def test_every_type_is_tested() -> None:
    assert {name for name, _, _ in READINGS} == set(TYPES)


@pytest.mark.parametrize("name", ["Half", "Float", "Double", "E4M3", "E5M2"])
def test_20_1a_exponent_0_is_zero_and_all_ones_infinity(name: str) -> None:
    element = TYPES[name]
    fraction_bits = element.width - 1 - element.exponent_bits
    assert element.value(1) == 0
    assert element.value(element.ones) == -float("inf")
    assert element.value(((1 << element.exponent_bits) - 2) << fraction_bits) < float("inf")
    for pattern in {1 << fraction_bits, (3 << fraction_bits) | 1, element.ones >> 3}:
        assert element.rounded(element.value(pattern)) == element.value(pattern)


@pytest.mark.parametrize(("text", "values", "holds"), [
    ('"MN-Core2"', b"MN-Core2", True),
    ('"MN-Core2"', b"MN-Core3", False),
    ('"Hello, MN-Core!"', b"Hello, MN-Core!\0", True),
    ('"Hello"', b"Hello\0\0\0", True),
    ('"Hello"', b"Hello\0\0!", False),
    ('"a\\"b]\\n\\x41."', b'a"b]\nA.\0', True),
    ('"日本"', "日本".encode() + b"\0\0", True),
])  # fmt: skip
def test_20_1a_string(text: str, values: bytes, holds: bool) -> None:
    assert verdict(f"{GET} {len(values) // 8} # expect={text} / String", values=values).passed is holds


@pytest.mark.parametrize(("tolerance", "found", "holds"), [
    ("", 100.0, True),
    ("", 100.00000762939453, False),
    ("atol=1", 101.0, True),
    ("atol=1 rtol=1e-9", 101.0, True),  # one of the two is enough
    ("atol=1e-9 rtol=0.01", 101.0, True),
    ("atol=1 rtol=0.01", 101.5, False),  # they do not add up
    ("rtol=0.01, atol=0.5", 99.0, True),
    ("atol=1", 98.5, False),
])  # fmt: skip
def test_20_1a_fails_only_beyond_both_tolerances(tolerance: str, found: float, holds: bool) -> None:
    line = f"{GET} 1 # expect=[100.0, 0] / Float @[0],[1] {tolerance}"
    assert verdict(line, values=struct.pack(">ff", found, 0)).passed is holds


def test_20_1a_the_tolerances_of_the_first_judged_line_apply_to_all() -> None:
    one, other = "# expect=[1] / Double @[0] atol=0.5", "# expect=[2] / Double @[1]"
    values = struct.pack(">dd", 1.25, 2.25)
    lines = f"{GET} 1 {one}", f"d getd $lm2n0c0b0m0p0 1 {other}"
    assert verdict(*lines, values=values).passed
    assert not verdict(f"d getd $lm2n0c0b0m0p0 1 {other}", f"{GET} 1 {one}", values=values).passed
    assert any("tolerances of line" in text for _, text in case(*lines, values=values).warnings)


def test_20_1a_positions() -> None:
    """Each line is compared by itself; a position that occurs twice is warned about, and named where it differs."""
    values = struct.pack(">dd", 1, 2)
    lines = [f"{GET} 2 # expect=[1, 3] / Double @[0,0],[0,1]", f"{GET} 1 # expect=[1] / Double @[0,1]"]
    found = verdict(*lines, values=values)
    assert [m.render() for m in found.mismatches] == [
        "element 1 at [0,1]: expected 3, found 2 (0x4000000000000000)",
    ]
    warnings = [text for _, text in case(*lines, values=values).warnings]
    assert len(warnings) == 1 and "position [0,1] occurs" in warnings[0]
    assert "2 values, but 1 positions" in case(f"{GET} 2 # expect=[1, 2] / Double @[0]").warnings[0][1]
    assert "dimensions" in case(f"{GET} 2 # expect=[1, 2] / Double @[0],[0,1]").warnings[0][1]


def test_20_1a_insertion_line() -> None:
    """Statements and dumps may stand on both sides of it; the answer runs there."""
    text = f"""{longs(struct.pack(">d", 5))}d getd $lm0n0c0b0m0p0 1 # expect=[5] / Double
lpassa $lm0 $lr0
nop/2
{INSERTION_LINE}
lpassa $lr2 $ln0
nop/2
{OUTPUT_LINE}
d getd $ln0n0c0b0m0p0 1 # expect=[10] / Double @[0]
"""
    found = judge(parse_testcase(text), parse_program("dvadd $lr0 $lr0 $lr2\nnop/2"))
    assert found.passed and found.compared == 1
    assert found.statistics.score == 3
    assert not judge(parse_testcase(text), parse_program("nop")).passed


def test_20_1a_lines_the_vendors_script_needs() -> None:
    get = f"{GET} 1 # expect=[0] / Double"
    assert not parse_testcase(f"{INSERTION_LINE}\r\n{OUTPUT_LINE}\r\n{get}\r\n").warnings
    assert "Output" in parse_testcase(f"{INSERTION_LINE}\n{get}\n").warnings[0][1]
    assert "INSERTED" in parse_testcase(f"{OUTPUT_LINE}\n{get}\n").warnings[0][1]
    assert not parse_testcase(f"{GET} 1 # expect=[0]\n").warnings  # our own notation needs neither


def test_20_1a_d_set_invalidates_an_answer(tmp_path: Path) -> None:
    line = f"{GET} 1 # expect=[0] / Double"
    found = verdict(line, values=bytes(8), answer="nop\nd set $lm0 1 0000000000000000\n")
    assert not found.passed and "line 2" in found.invalid
    (tmp_path / "case.vsm").write_text(f"{INSERTION_LINE}\n{OUTPUT_LINE}\n{line}\n")
    (tmp_path / "answer.vsm").write_text("nop\nd set $lm0 1 0000000000000000\n")
    result = CliRunner().invoke(command, [str(tmp_path / "case.vsm"), str(tmp_path / "answer.vsm")])
    assert result.exit_code == 1 and "INVALID" in result.output and "ACCEPTED" not in result.output


DIGITS = "9" * 400


@pytest.mark.parametrize("text", [f"[{DIGITS}] / Long", f"[-{DIGITS}] / Double", f"[{DIGITS}]", f"[{DIGITS}.5] / Float",
                                  f"[0x{DIGITS}] / ULong", f"[{DIGITS}] / UByte rtol=0.5 atol=1",
                                  f"[{DIGITS}] dtype=int64 atol=3 rtol=1e-3"])  # fmt: skip
def test_an_integer_of_400_digits_is_a_mismatch(text: str) -> None:
    typed = f"{text[:-1]}, 0]" if text[-1] == "]" else text
    found = verdict(f"{GET} {1 + typed.count(',')} # expect={typed}", values=bytes(16))
    assert found.mismatches and all(len(m.render()) < 120 for m in found.mismatches)


@pytest.mark.parametrize("text", ["[" + "9" * 5000 + "] / Long", "[1] / Quad", "[1] / String", '"a" / Float',
                                  "[1] / Double atol=-1", "[1] / Double rtol=nan", "[1] / Double @[-1]",
                                  "[1] / Double @[x]", "[one] / Double", "[1, 2] / Double"])  # fmt: skip
def test_expectations_that_cannot_be_read(text: str) -> None:
    with pytest.raises(CompileError):
        verdict(f"{GET} 1 # expect={text}", values=bytes(8))


def run_command(tmp_path: Path, answer: str, *options: str) -> tuple[int, str]:
    line = "d getd $ln0n0c0b0m0p0 1 # expect=[1] / Double"
    text = f"{longs(struct.pack('>d', 1))}{INSERTION_LINE}\n{OUTPUT_LINE}\n{line}\n"
    (tmp_path / "case.vsm").write_text(text)
    (tmp_path / "answer.vsm").write_text(answer)
    result = CliRunner().invoke(command, [*options, str(tmp_path / "case.vsm"), str(tmp_path / "answer.vsm")])
    return result.exit_code, result.output


def test_20_1a_verdict_line(tmp_path: Path) -> None:
    answer = "# 答え\nlpassa $lm0 $ln0\nnop/2\nmvnop\n"
    code, output = run_command(tmp_path, answer)
    assert code == 0
    assert output.splitlines()[-1] == f"ACCEPTED!! score=4 j=3 m=1 bytes={len(answer.encode())}"
    code, output = run_command(tmp_path, "zero $ln0\n")
    assert code == 1 and "ACCEPTED" not in output


def test_findings_of_an_assembler_fail_on_demand(tmp_path: Path) -> None:
    """A hazard that makes no difference on the emulator; what only warns, or only time shows, is no reason."""
    hazard = "lpassa $lm0 $lr0\nlpassa $lr0 $ln0\n"
    assert run_command(tmp_path, hazard)[0] == 0
    code, output = run_command(tmp_path, hazard, "--fail-on-findings")
    assert code == 1 and "FAIL: 1 of 1 elements as expected; an assembler would refuse" in output
    assert run_command(tmp_path, hazard, "--fail-on-findings", "--no-findings")[0] == 1
    for fine in ("lpassa $lm0 $ln0;\n", "mvp/n64 $p0@0 $lc0@0.0\nl2bmb $lc0 $lb0; lpassa $lm0 $ln0\n"):
        assert run_command(tmp_path, fine, "--fail-on-findings")[0] == 0
