"""Models that cannot be compiled: one message that names file and node, reason and hint; exit code 2; no output."""

import re

import onnx
import pytest

from .model_files import broken_files, tiny
from .running import Done, Shell

MODELS = {
    "absent": ["absent.onnx", "cannot read"],
    "truncated": ["truncated.onnx", "not an ONNX model", "hint"],
    "text": ["text.onnx", "not an ONNX model", "hint"],
    "empty": ["empty.onnx", "not an ONNX model", "hint"],
    "undefined_value": ["undefined_value.onnx", "absent", "hint"],
    "contradicting_shapes": ["contradicting_shapes.onnx", "culprit", "hint"],
    "open_shape": ["open_shape.onnx", "'x'", "batch", "hint", "--shape x="],
    "unsupported_operator": ["unsupported_operator.onnx", "node 'culprit'", "MaxRoiPool", "hint"],
    "unknown_operator": ["unknown_operator.onnx", "NoSuchOperator", "hint"],
    "unsupported_attribute": ["unsupported_attribute.onnx", "node 'culprit'", "auto_pad", "SOMEHOW", "hint"],
    "new_opset": ["new_opset.onnx", "opset 99", "hint"],
}
"""What is wrong -> what the message must say."""


def assert_refused(done: Done, *words: str) -> None:
    """One error of the user: exit code 2, nothing on standard output, one message with the words, no traceback."""
    assert done.code == 2, done.err
    assert not done.out
    assert "Traceback" not in done.err
    assert len(re.findall(r"\berror\b", done.err)) >= 1
    assert sum("error:" in line for line in done.err.splitlines()) == 1, done.err
    for word in words:
        assert word in done.err, done.err


@pytest.mark.parametrize("what", MODELS)
@pytest.mark.parametrize("command", [("mnc", "compile"), ("mnc", "check"), ("mnc-translate", "--import-onnx")])
def test_bad_model(shell: Shell, what: str, command: tuple[str, ...]) -> None:
    broken_files(shell.directory)
    before = shell.files()
    output = ("-o", "out") if "check" not in command else ()
    assert_refused(shell(*command, f"{what}.onnx", *output), *MODELS[what])
    assert shell.files() == before


@pytest.mark.parametrize("command", ["compile", "check"])
def test_too_large_a_model_is_refused_with_the_numbers(shell: Shell, command: str) -> None:
    broken_files(shell.directory)
    before = shell.files()
    done = shell("mnc", command, "too_large.onnx")
    assert_refused(done, "too_large.onnx", "hint")
    assert len(re.findall(r"\d{3,}", done.err)) >= 2, "needed and available"
    assert shell.files() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", ["'x'", "--shape x=1,64"]),
        ("=1", ["'=1'", "hint"]),
        ("x=1,two", ["'x=1,two'", "hint"]),
        ("x=-1,8", ["'x=-1,8'", "hint"]),
        ("absent=1,8", ["absent", "hint"]),
        ("x=3,9", ["x", "hint"]),
    ],
)
@pytest.mark.parametrize("command", [("mnc", "compile"), ("mnc", "check"), ("mnc-translate", "--import-onnx")])
def test_bad_shape(shell: Shell, command: tuple[str, ...], text: str, words: list[str]) -> None:
    onnx.save(tiny("batch"), shell.directory / "open.onnx")
    before = shell.files()
    assert_refused(shell(*command, "open.onnx", "--shape", text), *words)
    assert shell.files() == before


@pytest.mark.parametrize("text", ["x=3,8", "batch=3"])
def test_open_shape_given(shell: Shell, text: str) -> None:
    onnx.save(tiny("batch"), shell.directory / "open.onnx")
    done = shell("mnc", "check", "open.onnx", "--shape", text)
    assert done.code == 0, done.err
    assert "pass" in done.out


@pytest.mark.parametrize("extra", [(), ("--intermediates",)])
def test_an_unknown_attribute_is_told_once(shell: Shell, extra: tuple[str, ...]) -> None:
    model = tiny()
    model.graph.node[1].attribute.append(onnx.helper.make_attribute("colour", 3))
    onnx.save(model, shell.directory / "odd.onnx")
    with pytest.warns(UserWarning) as told:
        done = shell("mnc", "check", "odd.onnx", *extra)
    assert done.code == 0, done.err
    (warning,) = [str(entry.message) for entry in told]
    assert warning.endswith("node 'relu': attribute 'colour' is unknown and ignored")
