"""Sequences and optional values in commands: what says their lengths, how they are given, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from .running import Shell

HEADER = '<ir_version: 8, opset_import: ["" : 18]> g '
MODEL = """(seq(float[N]) s, optional(float[3]) o, float[1] x) => (seq(float[N]) y, float[3] z, optional(float[3]) w) {
    y = SequenceMap (s, x) <body = b (float[N] a, float[1] c) => (float[N] q) { q = Mul (a, c) }>
    w = Identity (o)
    h = OptionalHasElement (o)
    three = Constant <value = int64[1] {3}> ()
    z = If (h) <then_branch = t () => (float[3] u) { v = OptionalGetElement (o) u = Add (v, x) },
                else_branch = e () => (float[3] v) { v = Expand (x, three) }> }"""
SHAPES = ("--shape", "s[0]=2", "--shape", "s[1]=5")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(HEADER + MODEL), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def save(directory: Path, **values: Any) -> None:
    for name, value in values.items():
        np.save(directory / f"{name}.npy", np.asarray(value, np.float32))


def test_compile_and_run(shell: Shell, path: Path, tmp_path: Path) -> None:
    save(tmp_path, a=[1, 2], b=range(5), x=[3])
    assert shell("mnc", "compile", path, *SHAPES, "--shape", "o=none", "-o", "build").code == 0
    given = ("--input", "s[0]=a.npy", "--input", "s[1]=b.npy", "--input", "x=x.npy")
    done = shell("mnc", "run", "build", *given, "-o", "out")
    assert done.code == 0, done
    assert "y[0]: float32[2] [3. 6.]" in done.out and "y[1]: float32[5]" in done.out and "w: no value" in done.out
    np.testing.assert_array_equal(np.load(tmp_path / "out/y[1].npy"), np.arange(5) * 3)
    done = shell("mnc", "run", "build", *given[2:])
    assert done.code == 2 and "no value for input 's[0]'" in done.err
    assert "hint: add --input 's[0]=FILE.npy', an array of float32[2]" in done.err
    assert shell("mnc", "compile", path, "--shape", "s=0", "--shape", "o=none", "-o", "empty").code == 0
    assert "y: no elements" in shell("mnc", "run", "empty", "--input", "x=x.npy").out


@pytest.mark.parametrize("more", [("o=none",), ("o=3", "--intermediates"), ("o=3", "--target", "cpp")])
def test_check(shell: Shell, path: Path, more: tuple[str, ...]) -> None:
    done = shell("mnc", "check", path, *SHAPES, "--shape", *more)
    assert done.code == 0, done
    assert ("y[1]" in done.out, "w" in done.out.split()) == (True, more[0] != "o=none")
    assert done.out.count("pass") == 3 + (more[0] != "o=none")


def test_nodes_that_read_optional_values_are_left_out(shell: Shell, path: Path) -> None:
    for command in (("check", "--per-node"), ("bisect",)):
        done = shell("mnc", command[0], path, *command[1:], *SHAPES, "--shape", "o=3")
        assert done.code == 0 and "failed" not in done.out, done


@pytest.mark.parametrize(
    ("shapes", "message", "hint"),
    [
        ((), "input 's' is a sequence of unknown length", "give it with --shape 's[0]=1' --shape 's[1]=1'"),
        (("s=2",), "input 's[0]' has dynamic extents: N", "--shape 's[0]=1', or by its name with --shape N=1"),
        (("s=2", "N=4"), "input 'o' is optional", "its shape with --shape o=3, or --shape o=none"),
        (("s=2", "N=4", "o=nothing"), "cannot read the shape 'o=nothing'", "--shape x=1,64"),
        (("s=2", "N=4", "o="), "input 'o' has 1 dimensions, the given shape has 0", "--shape o=3"),
        (("s=none",), "input 's' must have a value: it is not optional", "give its shape"),
        (("s=3,4",), "input 's' is a sequence, and has a length and no shape", "--shape 's[0]=1'"),
        (("s[0]=4", "s[0]=5"), "the shape of 's[0]' is given twice", "leave one --shape out"),
    ],
)
def test_refused(shell: Shell, path: Path, shapes: tuple[str, ...], message: str, hint: str) -> None:
    for command in ("compile", "check"):
        done = shell("mnc", command, path, *(part for shape in shapes for part in ("--shape", shape)))
        assert done.code == 2 and message in done.err and hint in done.err, done


def test_supports(shell: Shell, path: Path) -> None:
    done = shell("mnc", "supports", path)
    assert done.code == 1 and "unknown length" in done.out and "1 refused" in done.out
    assert shell("mnc", "supports", path, *SHAPES, "--shape", "o=3").code == 0


def sequence_file(path: Path, values: list[Any]) -> None:
    path.write_bytes(onnx.numpy_helper.from_list([np.asarray(v, np.float32) for v in values]).SerializeToString())


def folder(directory: Path, optional: Any, second: float) -> Path:
    """A test of `MODEL` in the layout of ONNX backend tests; `second` is an element of the expected sequence."""
    data = directory / "case" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(onnx.parser.parse_model(HEADER + MODEL), data.parent / "model.onnx")
    value = None if optional is None else np.asarray(optional, np.float32)
    made = onnx.numpy_helper.from_optional(value, dtype=None if value is not None else onnx.OptionalProto.UNDEFINED)
    z = np.full(3, 2, np.float32) if value is None else value + 2
    sequence_file(data / "input_0.pb", [[1, 2], [3]])
    sequence_file(data / "output_0.pb", [[2, 4], [second]])
    for name in ("input_1", "output_2"):
        (data / f"{name}.pb").write_bytes(made.SerializeToString())
    for name, array in (("input_2", np.array([2], np.float32)), ("output_1", z)):
        (data / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    return data.parent


@pytest.mark.parametrize("optional", [None, [1, 2, 3]], ids=["absent", "there"])
def test_folders(shell: Shell, tmp_path: Path, optional: Any) -> None:
    done = shell("mnc", "check", folder(tmp_path, optional, second=6))
    assert done.code == 0 and "1 of 1 tests passed" in done.out, done
    done = shell("mnc", "check", folder(tmp_path, optional, second=7))
    assert done.code == 1 and "FAIL" in done.out, done


def test_a_folder_that_expects_another_length(shell: Shell, tmp_path: Path) -> None:
    case = folder(tmp_path, None, second=6)
    for values in ([[2, 4]], [[2, 4], [6], [1]]):
        sequence_file(case / "test_data_set_0" / "output_0.pb", values)
        done = shell("mnc", "check", case)
        assert done.code == 1 and "0 of 1 tests passed" in done.out, done
    (case / "test_data_set_0" / "input_0.pb").write_bytes(b"\xff\xff")
    done = shell("mnc", "check", case)
    assert done.code == 2 and "cannot read a list of tensors" in done.err and "hint" in done.err, done
