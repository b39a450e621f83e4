"""Names of nodes are the same in the model and in everything that is written about it."""

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from .running import Shell

NAMES = ["Gr\u00f6\u00dfe \u65e5\u672c", 'a "b" \\c', "a\nb\u2028\x85c", "\x1b[31mred"]


def _model(path: Path, name: str) -> Path:
    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, [4]) for end in "xy"]
    graph = helper.make_graph([helper.make_node("Sqrt", ["x"], ["y"], name)], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_reports_say_what_the_model_says(shell: Shell, tmp_path: Path, name: str) -> None:
    model = _model(tmp_path / "m.onnx", name)
    done = shell("mnc", "compile", model, "-o", "out", "--no-cache", "--annotate", "--trace-decisions", "t.json")
    assert done.code == 0, done
    out = tmp_path / "out"
    assert [row["node"] for row in json.loads((out / "report.json").read_text())["nodes"]] == [name]
    assert name in json.loads((out / "memory_map.json").read_text())["line_nodes"]
    explained = shell("mnc", "explain", "out", "--node", name)
    assert explained.code == 0 and " cycles (" in explained.out
    for text in (done.out, explained.out, shell("mnc", "explain", "t.json", "--node", name).out):
        assert not {*name} & {*"\x1b\u2028\x85"} & {*text}
    annotated = (out / "annotated.vsm").read_text()
    assert len(annotated.splitlines()) == len((out / "program.vsm").read_text().splitlines())
    assert shell("mnc", "asm", "check", out / "annotated.vsm").code == 0
