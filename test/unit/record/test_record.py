"""What is kept of a compilation agrees with the program and with the report."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnc.compiler import compile
from mnc.core.diagnostics import CompileError
from mnc.core.explanation import explaining
from mnc.core.recording import Candidate, current_recording, decided, recording
from mnc.executable import Executable
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.assembly.records import Step, Transfer
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.mncore_backend.target import CYCLES_PER_STEP
from mnc.options import Options
from mnc.record.compiling import compile_recorded
from mnc.record.origins import operations_of_lines
from mnc.record.recorder import ALLOCATED, Recorder
from mnc.record.replay import ISSUE, replay
from mnc.record.storage import load_record, pack, save_record
from mnc.stages import GRAPH

from .small_models import perceptron, recorded, softmax

MODELS = {"perceptron": perceptron, "softmax": softmax}


@pytest.fixture(scope="module", params=MODELS)
def made(request: pytest.FixtureRequest) -> tuple[Executable, dict]:
    return recorded(MODELS[request.param]())


def test_the_replay_counts_what_the_report_counts(made: tuple[Executable, dict]) -> None:
    statements = parse_program(made[0].text)
    times, cost = replay(statements), cost_of(statements)
    assert CYCLES_PER_STEP * times.end == cost.cycles
    assert CYCLES_PER_STEP * sum(event.stall for event in times.events) == cost.stall_cycles
    assert sum(event.steps for event in times.events) == cost.steps
    assert all(event.awaited in times.movements or event.awaited == ISSUE for event in times.events if event.stall)
    moved = [(m.dram_read, m.dram_written) for m in times.movements.values()]
    assert [sum(column) for column in zip(*moved, strict=True)] == [cost.dram_read, cost.dram_written]


def test_cycles_of_nodes_and_kernels_add_up(made: tuple[Executable, dict]) -> None:
    executable, record = made
    cycles = cost_of(parse_program(executable.text)).cycles
    for rows in (record["nodes"], record["kernels"]):
        assert sum(row["cycles"] for row in rows) == pytest.approx(cycles, abs=0.1 * len(rows))
        assert all(0 <= row["share_of_bound"] <= 1 for row in rows)
    assert {row["node"] for row in record["nodes"]} == {node["name"] for node in record["graph"]}


def test_a_node_of_several_loop_nests_has_a_row_for_each() -> None:
    record = recorded(softmax())[1]
    nests = [kernel for kernel in record["kernels"] if kernel["kind"] == "loops"]
    assert len(nests) >= 2 and all(kernel["nodes"] == ["softmax"] for kernel in nests)
    assert all(kernel["steps"] > 0 and kernel["extents"] for kernel in nests)


def test_every_operation_is_found_in_its_line() -> None:
    with explaining() as explanation, recording(lambda: Recorder(explanation, complete=True)) as kept:
        executable = compile(perceptron())
    operations = kept.outcome.notes[ALLOCATED].operations
    statements = parse_program(executable.text)
    lines = operations_of_lines(operations, statements)
    assert sum(map(len, lines)) == len(operations)
    for statement, own in zip(statements, lines, strict=True):
        if isinstance(statement, Step):
            working = [e.opcode for e in statement.expressions if e.opcode not in ("nop", "wait")]
            assert [op.opcode for op in own] == working
        elif isinstance(statement, Transfer):
            assert [op.opcode for op in own] == [statement.opcode]


def _overlaps(record: dict) -> Iterator[tuple[dict, dict]]:
    inside = [buffer for buffer in record["buffers"] if buffer["memory"] != "DRAM"]
    for a, b in itertools.combinations(inside, 2):
        places = a["base"] < b["base"] + b["size"] and b["base"] < a["base"] + a["size"]
        # The step that reads a buffer last may write another one in its place.
        times = a["first"] < b["last"] - 1 and b["first"] < a["last"] - 1
        if a["memory"] == b["memory"] and places and times:
            yield a, b


def test_no_two_buffers_are_in_one_place_at_one_time(made: tuple[Executable, dict]) -> None:
    record = made[1]
    assert len(record["buffers"]) > 5
    assert not list(_overlaps(record))
    for buffer in record["buffers"]:
        assert 0 <= buffer["first"] <= buffer["last"] <= record["end"]
        assert 0 <= buffer["base"] < buffer["base"] + buffer["size"] <= record["memories"][buffer["memory"]]["longs"]


def test_buffers_have_the_names_of_tensors() -> None:
    record = recorded(perceptron())[1]
    titles = {buffer["tensor"] for buffer in record["buffers"] if buffer["memory"] in ("LM0", "LM1", "GRF0", "GRF1")}
    assert {"x 10x24", "w0 24x20", "w1 20x6"} <= titles
    assert {"x 10x24", "w0 24x20", "y1 10x6"} <= {b["tensor"] for b in record["buffers"] if b["memory"] == "DRAM"}


def test_decisions_name_candidates_and_the_chosen_one() -> None:
    record = recorded(perceptron())[1]
    layouts = [decision for decision in record["decisions"] if decision["decision"] == "layout"]
    assert {decision["node"] for decision in layouts} == {"layer0", "layer1"}
    for decision in layouts:
        assert decision["chosen"] in [candidate["what"] for candidate in decision["candidates"]]
        assert len(decision["candidates"]) > 1
        for candidate in decision["candidates"]:
            assert sum(candidate["parts"].values()) == pytest.approx(candidate["price"])


def test_passes_are_those_of_the_program_that_was_kept() -> None:
    record = recorded(perceptron(), Options(prefer=("alike",)))[1]
    names = [entry["pass"].partition("{")[0] for entry in record["passes"]]
    assert names.count("schedule") == 1 and names[0] == GRAPH[0]
    assert names[-2:] == ["verify-schedule", "add-companions"]
    assert all(entry["seconds"] >= 0 and entry["after"] > 0 for entry in record["passes"])


def test_of_several_attempts_the_best_is_kept() -> None:
    record = recorded(perceptron((64, 256, 64), 64))[1]
    assert len(record["attempts"]) > 1
    assert {entry["attempt"] for entry in record["passes"]} == {"", ", ".join(record["preferences"])}
    names = [entry["pass"].partition("{")[0] for entry in record["passes"]]
    assert names.count("schedule") == 1


def test_layouts_and_decisions_are_those_of_the_program_that_was_kept() -> None:
    """However many starts were compared before anything was compiled."""
    model = perceptron((64, 256, 64), 64)
    record = recorded(model)[1]
    alone = recorded(model, Options(prefer=tuple(record["preferences"])))[1]
    assert record["layouts"] == alone["layouts"] and record["decisions"] == alone["decisions"]
    names = [entry["pass"].partition("{")[0] for entry in record["passes"]]
    assert len(names) == len(alone["passes"]) and names.count("assign-layouts") == 1


def test_nothing_is_kept_outside_of_a_recording() -> None:
    def never() -> Iterator[Candidate]:
        raise AssertionError("candidates were computed")
        yield

    assert current_recording() is None
    decided("layout", None, never(), "", "")


def test_a_record_is_read_back(tmp_path: Path, made: tuple[Executable, dict]) -> None:
    save_record(pack(made[1], True), tmp_path)
    assert load_record(tmp_path) == made[1]
    save_record(None, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"no gzip", b"\x1f\x8b\x08\x00broken"])
def test_a_damaged_record_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "record.json.gz").write_bytes(content)
    with pytest.raises(CompileError, match=r"record\.json\.gz"):
        load_record(tmp_path)


def test_a_directory_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="has no record"):
        load_record(tmp_path)


def test_the_record_of_a_program_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNC_NO_CACHE")
    monkeypatch.setenv("MNC_CACHE_DIR", str(tmp_path))
    first = compile_recorded(perceptron(), Options(prefer=()))
    again = compile_recorded(perceptron(), Options(prefer=()))
    assert first[0].text == again[0].text
    assert first[1] == again[1]
    assert again[1] is not None and not again[1].complete
    complete = compile_recorded(perceptron(), Options(prefer=()), complete=True)[1]
    assert complete is not None and complete.complete
    assert compile_recorded(perceptron(), Options(prefer=()))[1] == complete
