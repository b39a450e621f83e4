"""Names of nodes, tensors and files that mean something to a terminal or to a shell are shown as they are."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from .running import Shell


@pytest.fixture
def model(tmp_path: Path) -> Path:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("[red]x", "y[/red]")]
    nodes = [helper.make_node("Relu", ["[red]x"], ["m"], "[/]"), helper.make_node("Neg", ["m"], ["y[/red]"], "[bold]n")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    path = tmp_path / "a model [b].onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_brackets_are_no_markup(shell: Shell, model: Path) -> None:
    for arguments in (["check", model, "--per-node"], ["bisect", model, "-o", "found"]):
        done = shell("mnc", *arguments, "--no-cache")
        assert done.code == 0 and "[/]" in done.out and "[bold]n" in done.out, done
    assert "y[/red]" in shell("mnc", "check", model, "--no-cache").out
    assert "[b].onnx" in shell("mnc", "compile", model, "-o", "out", "--no-cache").out


def test_commands_that_are_proposed_can_be_pasted(shell: Shell, model: Path) -> None:
    done = shell("mnc", "unit-tests", model, "-o", "my tests")
    assert "2 tests from 2 nodes; run them with: mnc check 'my tests'/*" in done.out
    assert shell("mnc", "check", "my tests", "--no-cache").code == 0
    done = shell("mnc", "reduce", model, "--when", "cycles>1", "-o", "my reduced", "--seconds", "2")
    assert done.code == 0 and "mnc compile 'my reduced/model.onnx' -o 'my reduced/build'" in done.out, done


def test_long_names_are_cut(shell: Shell, tmp_path: Path) -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "n" * 999)], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    shown = shell("mnc", "check", tmp_path / "m.onnx", "--per-node", "--no-cache").out
    assert 60 < shown.count("n") < 200
