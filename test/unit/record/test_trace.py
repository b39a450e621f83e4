"""Traces for Perfetto are read back by its own message types; ONNX of the graph and overlays by theirs.

Perfetto's trace processor is a program of its own, which its package downloads when it is first used; the tests need no
network, so they decode the messages that it would read.
"""

import json
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from click.testing import CliRunner

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip
from mnc.perfetto_trace import tracks, write_trace
from mnc.record.replay import replay
from mnc.tools.mnc import cli

from .small_models import perceptron, recorded

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
Slices = dict[str, list[tuple[int, int, str]]]


def _read(path: Path) -> tuple[Slices, dict[str, list[int]]]:
    """Slices and values of counters by the name of their track."""
    trace = messages.Trace.FromString(path.read_bytes())
    names = {p.track_descriptor.uuid: p.track_descriptor.name for p in trace.packet if p.HasField("track_descriptor")}
    texts: dict[int, str] = {}
    slices: Slices = {}
    counters: dict[str, list[int]] = {}
    begun: dict[int, tuple[int, str]] = {}
    for packet in trace.packet:
        texts.update({entry.iid: entry.name for entry in packet.interned_data.event_names})
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        if event.type == 1:
            assert event.track_uuid not in begun
            begun[event.track_uuid] = packet.timestamp, texts[event.name_iid]
        elif event.type == 2:
            start, name = begun.pop(event.track_uuid)
            slices.setdefault(names[event.track_uuid], []).append((start, packet.timestamp, name))
        else:
            counters.setdefault(names[event.track_uuid], []).append(event.counter_value)
    assert not begun
    return slices, counters


@pytest.fixture(scope="module")
def made() -> tuple[Any, dict]:
    return recorded(perceptron())


def test_a_trace_is_read_back(tmp_path: Path, made: tuple[Any, dict]) -> None:
    executable, record = made
    write_trace(tmp_path / "out.pftrace", executable.text, record)
    slices, counters = _read(tmp_path / "out.pftrace")
    statements = parse_program(executable.text)
    assert len(slices["MAU"]) == cost_of(statements).mau_steps
    transfers = [one for name, own in slices.items() if name.startswith("MV ") for one in own]
    assert len(transfers) == len(replay(statements).movements)
    assert all("mv" in name for _, _, name in transfers)
    assert any(name.startswith("layer0: ") for _, _, name in slices["MAU"])
    end = replay(statements).end * CYCLES_PER_STEP * 1e9 / chip().clock_hz
    assert all(0 <= start < stop <= end + 1 for own in slices.values() for start, stop, _ in own)
    assert all(a[1] <= b[0] for own in slices.values() for a, b in pairwise(own))
    assert "DRAM long words" in counters and max(counters["L2BM long words"]) > 0
    assert all(values[-1] == 0 for values in counters.values())


def test_long_programs_are_bounded(made: tuple[Any, dict]) -> None:
    executable, record = made
    exact = tracks(executable.text, record)
    few = tracks(executable.text, record, most=30)
    assert sum(len(slices) for _, slices in exact) > 30 >= sum(len(slices) for _, slices in few) > 0
    assert [name for name, _ in few] == [name for name, _ in exact]
    for (_, own), (_, joined) in zip(exact, few, strict=True):
        assert (own[0][0], max(s[1] for s in own)) == (joined[0][0], max(s[1] for s in joined))


def test_traces_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "model.onnx")
    command = ["compile", "model.onnx", "-o", "build", "--layouts", "plain", "--trace", "a.pftrace"]
    done = CliRunner().invoke(cli, [*command, "--dump-onnx", "graph.onnx"], catch_exceptions=False)
    assert done.exit_code == 0
    slices, counters = _read(tmp_path / "a.pftrace")
    assert slices["MAU"] and counters
    shown = onnx.load("graph.onnx")
    assert [node.op_type for node in shown.graph.node].count("relu") == 2
    assert {value.name for value in shown.graph.input} == {"x"} and shown.graph.output[0].name == "y1"
    Path("twice.vsm").write_text("fvadd $lm0v $lm0v $lr0v\nnop\nipassa $lr0v $ln0v\n")
    done = CliRunner().invoke(cli, ["run", "twice.vsm", "--mode", "vendor", "--trace", "b.pftrace"])
    assert done.exit_code == 0, done.exception
    slices, _ = _read(tmp_path / "b.pftrace")
    assert [name for _, _, name in slices["ALU"]] == ["ipassa $lr0v $ln0v"]


def test_costs_for_model_explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "model.onnx")
    CliRunner().invoke(cli, ["compile", "model.onnx", "-o", "build", "--layouts", "plain"], catch_exceptions=False)
    done = CliRunner().invoke(cli, ["explore", "model.onnx", "build", "--write-only"], catch_exceptions=False)
    assert "costs.overlay.json" in done.output
    results = json.loads(Path("build/costs.overlay.json").read_text())["perceptron"]["results"]
    rows = json.loads(Path("build/report.json").read_text())["nodes"]
    assert {row["node"]: row["cycles"] for row in rows}.items() <= {n: r["value"] for n, r in results.items()}.items()
    assert results["layer0"]["value"] == results["h0"]["value"] > 0
    monkeypatch.setitem(sys.modules, "model_explorer", None)
    done = CliRunner().invoke(cli, ["explore", "model.onnx", "build"])
    assert isinstance(done.exception, CompileError) and "not installed" in done.exception.message
    done = CliRunner().invoke(cli, ["explore", "model.onnx", "build", "--port", "65536"])
    assert done.exit_code == 2 and "65536 is not in the range" in done.output


def test_a_missing_package_is_told_before_the_model_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "model.onnx")
    monkeypatch.setitem(sys.modules, "perfetto.trace_builder.proto_builder", None)
    done = CliRunner().invoke(cli, ["compile", "model.onnx", "-o", "build", "--trace", "t.pftrace"])
    assert isinstance(done.exception, CompileError) and "mnc[trace]" in str(done.exception.hint)
    assert done.output == "" and not Path("build").exists()


@pytest.mark.parametrize("option", ["--trace", "--dump-onnx", "--trace-decisions"])
def test_a_missing_directory_is_told_before_the_model_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "model.onnx")
    for place, reason in (("missing/file", "there is no directory 'missing'"), (str(tmp_path), "it is a directory")):
        done = CliRunner().invoke(cli, ["compile", "model.onnx", "-o", "build", option, place])
        assert isinstance(done.exception, CompileError) and reason in done.exception.message
        assert option in str(done.exception.hint) and not Path("build").exists()


def test_a_trace_may_be_written_into_the_build_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "model.onnx")
    asked = ["-o", str(tmp_path / "build"), "--trace", "build/t.pftrace"]
    done = CliRunner().invoke(cli, ["compile", "model.onnx", *asked])
    assert done.exit_code == 0 and Path("build/t.pftrace").is_file()


def test_costs_belong_to_the_model_that_was_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    other = perceptron()
    onnx.save(perceptron(), "model.onnx")
    for node in other.graph.node:
        node.name = f"other_{node.name}"
    onnx.save(other, "other.onnx")
    CliRunner().invoke(cli, ["compile", "model.onnx", "-o", "build", "--layouts", "plain"], catch_exceptions=False)
    done = CliRunner().invoke(cli, ["explore", "other.onnx", "build", "--write-only"])
    assert isinstance(done.exception, CompileError) and "is not a program of other.onnx" in done.exception.message
    assert not Path("build/costs.overlay.json").exists()


def test_a_graph_for_viewers_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "model.onnx")
    command = ["compile", "model.onnx", "-o", "build", "--layouts", "plain", "--dump-onnx", "graph.onnx"]
    CliRunner().invoke(cli, command, catch_exceptions=False)
    done = CliRunner().invoke(cli, ["compile", "graph.onnx", "-o", "again"])
    assert isinstance(done.exception, CompileError) and "for viewers" in str(done.exception.hint)


def test_model_explorer_gets_the_model_its_adapter_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in notes what it is asked for: the package starts a server that runs until Ctrl-C."""
    monkeypatch.chdir(tmp_path)
    model = perceptron()
    for node in model.graph.node:
        node.name = ""
    onnx.save(model, "model.onnx")
    CliRunner().invoke(cli, ["compile", "model.onnx", "-o", "build", "--layouts", "plain"], catch_exceptions=False)
    asked: dict[str, Any] = {}
    config = SimpleNamespace(
        add_model_from_path=lambda path: asked.update(model=path),
        add_node_data_from_path=lambda path: asked.update(costs=path),
    )
    stand_in = SimpleNamespace(config=lambda: config, visualize_from_config=lambda _, **options: asked.update(options))
    monkeypatch.setitem(sys.modules, "model_explorer", stand_in)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = CliRunner().invoke(cli, ["explore", "model.onnx", "build"])
    assert isinstance(done.exception, CompileError) and "no adapter for ONNX" in done.exception.message
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    CliRunner().invoke(cli, ["explore", "model.onnx", "build", "--no-browser"], catch_exceptions=False)
    results = json.loads(Path(asked["costs"]).read_text())["perceptron"]["results"]
    names = [node.name for node in onnx.load(asked["model"]).graph.node]
    assert names == ["MatMul_0", "Relu_1", "MatMul_2", "Relu_3"] and set(names) <= set(results)
    assert asked["extensions"] == ["model_explorer_onnx"] and asked["no_open_in_browser"]
