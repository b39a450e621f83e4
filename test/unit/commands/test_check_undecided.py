"""`mnc check` of choices that rounding may turn."""

import json
from pathlib import Path

import onnx

from .running import Shell


def test_the_command_says_how_many_are_undecided(shell: Shell, tmp_path: Path) -> None:
    """Products of halves round so much that some of their signs differ from those of the reference."""
    text = "(float[64,256] x, float[256,128] w) => (bool[64,128] y) <float zero = {0.0}> "
    graph = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 18]> g {text} {{ p = MatMul (x, w) y = Greater (p, zero) }}'
    )
    onnx.save(graph, path := tmp_path / "signs.onnx")
    done = shell("mnc", "check", path, "--precision", "half")
    assert done.code == 0, done.out
    assert "of 8192 elements are undecided within the error bounds," in done.out and "of them differ" in done.out
    done = shell("mnc", "check", path, "--precision", "half", "--format", "json")
    (row,) = json.loads(done.out)["tensors"]
    assert row["passed"] and 0 < row["undecided_that_differ"] < row["undecided"] < 8192 / 4
