"""mnc explain, mnc asm explain, mnc supports, --annotate, check --per-node: as a shell would see them."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.checker.examples import EXAMPLES, broken_by, explanation
from mnc.mncore_backend.checker.rules import RULES
from mnc.tools.mnc import cli

from .small_models import perceptron


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if isinstance(done.exception, CompileError):
        assert code == done.exception.exit_code, done.exception.render()
        return done.exception.render()
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    onnx.save(perceptron(), folder / "model.onnx")
    run("compile", folder / "model.onnx", "-o", folder / "build", "--annotate", "--layouts", "plain")
    return folder / "build"


def test_a_node(build: Path) -> None:
    text = run("explain", build, "--node", "layer0")
    assert "layer0 (MatMul): x, w0 -> h0" in text
    assert "cycles stalled" in text and "for line 1: mv" in text
    assert "gives 10x20" in text and "reads x 10x24" in text and "matrix product" in text


def test_costs_of_nodes_are_those_of_the_report(tmp_path: Path) -> None:
    """The bias rides in the transfer of other tensors: it belongs to all nodes that read what it brings."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "left"),
        helper.make_node("Add", ["a", "b"], ["c"], "shift"),
        helper.make_node("Relu", ["c"], ["y"], "clip"),
    ]
    given, made = ([helper.make_tensor_value_info(n, TensorProto.FLOAT, (4, 6))] for n in ("x", "y"))
    rng = np.random.default_rng(0)
    values = {"w": rng.normal(size=(6, 6)), "b": rng.normal(size=6)}
    weights = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in values.items()]
    graph = helper.make_graph(nodes, "g", given, made, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "model.onnx")
    run("compile", tmp_path / "model.onnx", "-o", tmp_path / "build", "--layouts", "plain")
    rows = json.loads((tmp_path / "build" / "report.json").read_text())["nodes"]
    assert {row["node"] for row in rows} == {"left", "shift", "clip"}
    for row in rows:
        text = run("explain", tmp_path / "build", "--node", row["node"])
        assert f"\n{row['cycles']:,.0f} cycles (" in text and f" {row['stall_cycles']:,.0f} cycles stalled" in text


def test_a_step_says_what_is_waited_for(build: Path) -> None:
    texts = [run("explain", build, "--step", step) for step in range(0, 60, 6)]
    stopped = [text for text in texts if "stalled in steps" in text]
    assert stopped and all("waits for line" in text and "running: line" in text for text in stopped)
    assert "takes steps 0 to" in run("explain", build, "--step", 10**6, code=2)


def test_a_tensor_and_its_places(build: Path) -> None:
    text = run("explain", build, "--tensor", "x")
    assert "x: comes from outside, read by layer0" in text and "DRAM" in text and "layout where layer0 reads it" in text
    assert "made by relu1 (Relu)" in run("explain", build, "--tensor", "y1")


def test_why_a_layout(build: Path) -> None:
    text = run("explain", build, "--why-layout", "layer1")
    (chosen,) = [line for line in text.splitlines() if line.startswith("* ")]
    assert "steps (matrix unit" in chosen and text.count(" steps (") > 1


def test_why_two_nodes_are_not_fused(build: Path) -> None:
    refused = run("explain", build, "--why-not-fused", "relu0", "layer1")
    assert "layer1 reads relu0, but" in refused and "the consumer is a contraction" in refused
    assert "does not read" in run("explain", build, "--why-not-fused", "layer0", "relu1")


def test_names_that_there_are_not(build: Path) -> None:
    assert "did you mean layer" in run("explain", build, "--node", "layer", code=2)
    assert "there is no tensor" in run("explain", build, "--tensor", "q", code=2)
    assert "nothing was asked" in run("explain", build, code=2)
    assert "is no build directory" in run("explain", build / "none", "--node", "x", code=2)


def test_the_annotated_program_is_the_program(build: Path) -> None:
    notes, plain = (build / "annotated.vsm").read_text(), (build / "program.vsm").read_text()
    assert parse_program(notes) == parse_program(plain)
    assert "# matrix product for layer0" in notes


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_explained_with_examples_that_break_and_keep_it(rule: str) -> None:
    bad, good = EXAMPLES[rule][0]
    assert broken_by(rule, bad) and not broken_by(rule, good)
    text = explanation(rule)
    assert RULES[rule].summary in text and f"source: {RULES[rule].source}" in text and f"[{rule}]" in text


def test_rules_on_the_command_line() -> None:
    assert "keeps it:" in run("asm", "explain", "hazard-9b")
    assert "hazard-9b" in run("asm", "explain")
    assert "did you mean hazard-9" in run("asm", "explain", "hazard-9x", code=2)


def _model(nodes: list[onnx.NodeProto], path: Path) -> Path:
    shape = [2, 3]
    x, y = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name in ("x", "y"))
    graph = helper.make_graph(nodes, "g", x, y)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


def test_everything_that_is_refused_is_listed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Multinomial", ["x"], ["a"], name="first", sample_size=3),
        helper.make_node("Cast", ["a"], ["b"], name="between", to=TensorProto.FLOAT),
        helper.make_node("RandomNormalLike", ["b"], ["y"], name="second"),
    ]
    text = run("supports", _model(nodes, tmp_path / "m.onnx"), code=1)
    assert "node 'first' (Multinomial)" in text and "node 'second' (RandomNormalLike)" in text and "between" not in text
    assert text.splitlines()[-1].endswith("3 nodes, 2 refused")


def test_a_model_of_which_nothing_is_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="relu")]
    assert "1 nodes, nothing refused" in run("supports", _model(nodes, tmp_path / "m.onnx"))


def test_every_node_is_judged_alone_and_accumulated(tmp_path: Path) -> None:
    onnx.save(perceptron(rows=3), tmp_path / "model.onnx")
    text = run("check", tmp_path / "model.onnx", "--per-node", "--target", "cpp")
    assert all(name in text for name in ("layer0", "relu0", "layer1", "relu1", "accumulated"))
    assert text.count("pass") == 4
