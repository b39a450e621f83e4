"""Shapes that are given for open extents, and constants that no word holds: what commands and Python say."""

from pathlib import Path

import onnx
import pytest

import mnc
from mnc.core.diagnostics import CompileError

from .running import Shell

OPEN = "(float[N,3] x) => (float[N,3] y) { y = Relu (x) }"
HEADER = '<ir_version: 9, opset_import: ["" : 18]> g '


def save(path: Path, text: str) -> Path:
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    return path


@pytest.mark.parametrize("shapes", [["N=7", "N=8"], ["x=7,3", "x=7,3"]])
def test_a_shape_is_given_once(shell: Shell, tmp_path: Path, shapes: list[str]) -> None:
    path, name = save(tmp_path / "m.onnx", OPEN), shapes[0].split("=")[0]
    for command in ("compile", "check", "supports"):
        done = shell("mnc", command, path, *(part for shape in shapes for part in ("--shape", shape)))
        assert done.code == 2 and f"the shape of '{name}' is given twice" in done.err, done
        assert "hint: leave one --shape out" in done.err
    done = shell("mnc-translate", "--import-onnx", path, "--update", "x=y", "--update", "x=y")
    assert done.code == 2 and "the update of 'x' is given twice" in done.err


# Whether `s` is known hangs on the shape of x; `t` is what the operator of the user computes.
UNKNOWN = """(float[N,3] x, float[3] z) => (float[N,3] y, float[2] s, float[K] t)
{ v = Relu (x)  y = HardSwish (v)  h = Shape (x)  c = Cast <to=1> (h)  s = Bernoulli (c)  r = Bernoulli (z)
  t = my.Own (r) }"""


def test_operators_are_judged_where_extents_are_open(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(HEADER.replace("18]", '18, "my": 1]') + UNKNOWN), path)
    done = shell("mnc", "supports", path)
    assert done.code == 1
    assert [line.split(": error: ")[1] for line in done.out.splitlines() if ": error: " in line] == [
        "input 'x' has dynamic extents: N",
        "node 'Bernoulli_5' (Bernoulli): operator Bernoulli is not supported",
        "node 'Own_6' (Own): operator Own of domain 'my' is not supported",
    ]
    assert "only operators were judged" in done.out and "7 nodes, 3 refused" in done.out


def test_hints_name_what_the_caller_can_give(shell: Shell, tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", OPEN)
    done = shell("mnc", "compile", path)
    assert done.code == 2
    assert "hint: give it with --shape x=1,3, or by its name with --shape N=1" in done.err
    with pytest.raises(CompileError) as raised:
        mnc.compile(path)
    assert raised.value.hint == 'give it with shapes={"x": (1, 3)}, or by its name with shapes={"N": 1}'
    for shapes in ({"x": (1, 3)}, {"N": 1}):
        assert mnc.compile(path, shapes=shapes).inputs[0].shape == (1, 3)
    scalar = save(tmp_path / "s.onnx", "(float x) => (float y) { y = Relu (x) }")
    with pytest.raises(CompileError, match="leave its shape out"):
        mnc.compile(scalar, shapes={"x": (1,)})


def test_constants_that_no_word_holds_are_known_before_compiling(shell: Shell, tmp_path: Path) -> None:
    text = "(int64[3] x) => (int64[3] y) <int64[3] c = {1099511627776, 1, 2}> { y = Add (x, c) }"
    done = shell("mnc", "supports", save(tmp_path / "m.onnx", text))
    assert done.code == 1 and "the constant 1099511627776 does not fit 32-bit integers" in done.out
    limit = text.replace("int64[3] c = {1099511627776, 1, 2}", "int64 c = {9223372036854775807}").replace("Add", "Min")
    assert shell("mnc", "supports", save(tmp_path / "limit.onnx", limit)).code == 0
