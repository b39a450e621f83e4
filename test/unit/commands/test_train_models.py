"""Models that `mnc train` cannot train: messages have the name of the file."""

import onnx
import pytest

from .running import Shell

FILES = {
    "no weights": ("(float[N,64] x) => (float[N,64] y) { y = Relu (x) }", "no float initializers"),
    "two inputs": ("(float[N,64] x, float[N,3] z) => (float[N,64] y) <float w = {1}> { y = Mul (x, w) }", "2 inputs"),
    "a weight of another size": ("(float[N,64] x) => (float[N,10] y) <float[64,10] w = {1}> { y = MatMul (x, w) }",
                                 "cannot read initializer 'w'"),
    "an unknown operator": ("(float[N,64] x) => (float[N,64] y) <float w = {1}> { z = Mul (x, w) y = Foo (z) }", "Foo"),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_messages_name_the_file(shell: Shell, what: str) -> None:
    text, word = FILES[what]
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}'), shell.directory / "m.onnx")
    done = shell("mnc", "train", "--model", "m.onnx", "-o", "out")
    assert done.code == 2
    assert done.err.startswith("m.onnx: error: ")
    assert word in done.err
    assert "<model>" not in done.err
    assert shell.files() == {"m.onnx"}
