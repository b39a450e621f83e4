"""Decisions fixed from outside, and the files that hold them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest
from click.testing import CliRunner

import mnc
from mnc.core.diagnostics import CompileError
from mnc.options import Options
from mnc.tools.commands.tune import parse_budget
from mnc.tools.mnc import cli
from mnc.tuning.schedule_file import read_schedule, schedule, write_schedule
from mnc.tuning.trial import run_trial

ROOT = Path(__file__).resolve().parents[3]


def product() -> onnx.ModelProto:
    head = '<ir_version: 8, opset_import: ["" : 18]> g (float[16,24] x, float[24,8] w) => (float[16,8] y)'
    model = onnx.parser.parse_model(head + " { y = MatMul(x, w) }")
    model.graph.node[0].name = "product"
    return model


@pytest.fixture(scope="module")
def trial() -> Any:
    return run_trial(product().SerializeToString(), Options(prefer=()))


def test_another_candidate_makes_another_program_of_the_same_function(trial: Any) -> None:
    candidates = trial.space["layout", "product"]
    assert len(candidates) > 1
    rng = np.random.default_rng(0)
    values = {"x": rng.standard_normal((16, 24), np.float32), "w": rng.standard_normal((24, 8), np.float32)}
    texts, results = set(), []
    for candidate in candidates[:2]:
        program = mnc.compile(product(), Options(prefer=(), decisions={"layout": {"product": candidate}}))
        texts.add(program.text)
        results.append(program.run(values)["y"])
    assert len(texts) == 2
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-4)
    assert mnc.compile(product(), Options(prefer=())).text in texts  # the first candidate is what it takes by itself


@pytest.mark.parametrize(
    "decisions, message",
    [
        ({"layout": {"product": "elsewhere"}}, "which is no candidate"),
        ({"layout": {"nobody": "elsewhere"}}, "'layout' of 'nobody', which nobody asks"),
        ({"colour": {"product": "red"}}, "'colour' of 'product', which nobody asks"),
    ],
)
def test_what_cannot_be_decided(decisions: dict[str, dict[str, str]], message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        mnc.compile(product(), Options(prefer=(), decisions=decisions))
    assert caught.value.hint


def test_files_come_back_and_fit_the_schema(trial: Any, tmp_path: Path) -> None:
    other = trial.space["layout", "product"][1]
    options = Options(prefer=("cyclic",), decisions={"layout": {"product": other}})
    content = schedule(trial, options)
    jsonschema.validate(content, json.loads((ROOT / "docs" / "schedule.schema.json").read_text()))
    write_schedule(content, tmp_path / "s.json")
    assert read_schedule(tmp_path / "s.json").decisions == options.decisions
    content["decisions"] = [{"decision": "preferences", "node": "", "choice": "cyclic, alike"}]
    write_schedule(content, tmp_path / "s.json")
    edited = read_schedule(tmp_path / "s.json", Options("single"))
    assert edited.prefer == ("alike", "cyclic") and edited.precision == "single" and edited.decisions == {}


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no schedule file"),
        ("[]", "is no object with 'format'"),
        ("null", "is no object with 'format'"),
        ("[" * 99999, "nested too deeply"),
        ("{}", "there is no 'format'"),
        ('{"format": 2, "decisions": []}', "format 2"),
        ('{"format": "1", "decisions": []}', "format '1'"),
        ('{"format": true, "decisions": []}', "format True"),
        ('{"format": 1, "decisions": {"a": 1}}', "'decisions' is no list"),
        ('{"format": 1, "decisions": [[]]}', "decision 1 is no object"),
        ('{"format": 1, "decisions": [{}]}', "there is no 'decision'"),
        ('{"format": 1, "decisions": [{"decision": "layout", "node": "a", "choice": 3}]}', "are texts"),
        ('{"format": 1, "decisions": [{"decision": "preferences", "node": "", "choice": "x"}]}', "no preference 'x'"),
    ],
)
def test_files_that_are_no_schedule(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(CompileError, match=message):
        read_schedule(tmp_path / "s.json")


def _with(tmp_path: Path, *entries: tuple[str, str, str]) -> Path:
    decisions = [dict(zip(("decision", "node", "choice"), entry, strict=True)) for entry in entries]
    (tmp_path / "s.json").write_text(json.dumps({"format": 1, "decisions": decisions}))
    return tmp_path / "s.json"


def test_what_is_written_by_hand_counts_once_and_for_the_right_node(tmp_path: Path) -> None:
    for entries, message in {
        (("layout", "a", "x"), ("layout", "a", "y")): "'layout' of 'a' is decided twice",
        (("preferences", "", "alike"), ("preferences", "", "cyclic")): "'preferences' of '' is decided twice",
        (("preferences", "product", "cyclic"),): "those of the whole program, and not of 'product'",
    }.items():
        with pytest.raises(CompileError, match=message):
            read_schedule(_with(tmp_path, *entries))


@pytest.mark.parametrize(
    "choice, prefer", [("", ()), ("plain", ()), ("shortest", None), ("alike,cyclic", ("alike", "cyclic"))]
)
def test_rules_are_written_as_for_compile(tmp_path: Path, choice: str, prefer: object) -> None:
    assert read_schedule(_with(tmp_path, ("preferences", "", choice))).prefer == prefer


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from contextlib import contextmanager

    from mnc.tuning import workers

    @contextmanager
    def here(_: object) -> Any:
        with ThreadPoolExecutor(1) as executor:
            yield executor, 1

    monkeypatch.setattr(workers, "local_workers", here)
    (tmp_path / "none.onnx").write_text("no model")
    refused = CliRunner().invoke(cli, ["tune", str(tmp_path / "none.onnx"), "--budget", "0s"])
    assert str(refused.exception).count("none.onnx") == 1
    onnx.save(product(), tmp_path / "m.onnx")
    target = tmp_path / "m.onnx.schedule.json"
    done = CliRunner().invoke(cli, ["tune", str(tmp_path / "m.onnx"), "--budget", "0s"], catch_exceptions=False)
    assert done.exit_code == 0 and "cycles" in done.output and target.exists()
    arguments = ["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "out"), "--schedule", str(target)]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    cycles = json.loads((tmp_path / "out" / "report.json").read_text())["total"]["cycles"]
    assert cycles == json.loads(target.read_text())["cycles"]


@pytest.mark.parametrize("text, seconds", [("60s", 60), ("5m", 300), ("1h", 3600), ("90", 90), ("0.5s", 0.5)])
def test_budgets(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "5x", "1m30s", "nan", "inf"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(CompileError, match="no budget"):
        parse_budget(text)
