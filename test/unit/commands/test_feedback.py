"""Progress, -v, -q, --log-json, --format json, completion, doctor: what long commands say, and where."""

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import onnx
import pytest
from onnx import TensorProto, helper
from rich.console import Console

from mnc.core import events
from mnc.progress_bar import progress_bar, without_bars
from mnc.tools.mnc import cli
from mnc.tools.progress_line import ProgressLine

from .running import Shell

TESTCASE = """d set $lm0n0c0b0m0p0 1 0000000100000002
# ======= YOUR VSM WILL BE INSERTED HERE =======
# ======= Output =======
d get $lm0n0c0b0m0p0 1 # expect=[1, {}] / Int
"""


@pytest.fixture
def model(shell: Shell) -> str:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xy")
    nodes = [helper.make_node("Exp", ["x"], ["e"], name="first"), helper.make_node("Relu", ["e"], ["y"], name="second")]
    graph = helper.make_graph(nodes, "g", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, shell.directory / "m.onnx")
    return "m.onnx"


def log_of(shell: Shell) -> list[dict[str, object]]:
    return [json.loads(line) for line in (shell.directory / "log.jsonl").read_text().splitlines()]


def test_is_quiet_where_there_is_no_terminal(shell: Shell, model: str) -> None:
    done = shell("mnc", "compile", model, "-o", "out")
    assert (done.code, done.err) == (0, "")
    assert "steps" in done.out and "\x1b" not in done.out


def test_verbose_names_stages_and_passes(shell: Shell, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNC_NO_CACHE", "1")
    once = shell("mnc", "compile", model, "-o", "out", "-v").err
    assert "stage import" in once and "stage graph" in once and "pass" not in once
    twice = shell("mnc", "compile", model, "-o", "out", "-vv").err
    assert "pass fold-constants" in twice and "pass schedule" in twice


def test_quiet_prints_errors_only(shell: Shell, model: str) -> None:
    done = shell("mnc", "check", model, "-q")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = shell("mnc", "compile", "absent.onnx", "--quiet")
    assert done.code == 2 and "error:" in done.err
    assert shell("mnc", "check", model, "-q", "-v").code == 2


def test_log_has_a_line_for_everything(shell: Shell, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNC_NO_CACHE", "1")
    assert shell("mnc", "compile", model, "-o", "out", "--log-json", "log.jsonl").code == 0
    lines = log_of(shell)
    assert [lines[0]["event"], lines[0]["command"], lines[-1]["event"], lines[-1]["exit_code"]] == [
        "start", "compile", "end", 0,
    ]  # fmt: skip
    found = {(line["event"], line.get("name")) for line in lines if "seconds" in line}
    assert {("stage", "import"), ("stage", "graph"), ("pass", "schedule"), ("pass", "verify-schedule")} <= found
    assert {"first", "second"} <= {line.get("name") for line in lines if line["event"] == "node"}


def test_log_tells_errors(shell: Shell) -> None:
    assert shell("mnc", "compile", "absent.onnx", "--log-json", "log.jsonl").code == 2
    error, end = log_of(shell)[-2:]
    assert error["event"] == "error" and "cannot read" in str(error["message"]) and error["location"] == "absent.onnx"
    assert end["exit_code"] == 2
    assert shell("mnc", "compile", "absent.onnx", "--log-json", "no/such/folder.jsonl").code == 2


def test_compile_as_json(shell: Shell, model: str) -> None:
    done = shell("mnc", "compile", model, "-o", "out", "--format", "json")
    found = json.loads(done.out)
    assert found["report"] == json.loads((shell.directory / "out" / "report.json").read_text())
    assert found["output"] == "out"


def test_check_as_json(shell: Shell, model: str) -> None:
    found = json.loads(shell("mnc", "check", model, "--intermediates", "--format", "json").out)
    assert found["passed"] is True
    assert {tensor["name"]: tensor["shape"] for tensor in found["tensors"]} == {"e": [4, 8], "y": [4, 8]}
    assert shell("mnc", "unit-tests", model, "-o", "cases").code == 0
    done = shell("mnc", "check", "cases", "--format", "json")
    assert [test["passed"] for test in json.loads(done.out)["tests"]] == [True, True]


def test_bisect_as_json(shell: Shell, model: str) -> None:
    found = json.loads(shell("mnc", "bisect", model, "--format", "json").out)
    assert found["passed"] is True and found["culprit"] is None
    assert [(node["name"], node["alone"]["passed"]) for node in found["nodes"]] == [("first", True), ("second", True)]
    told = shell("mnc", "bisect", model, "-v").err
    assert all(f"case {name}\n" in told for name in ("the whole model", "all intermediate values", "Exp first"))


@pytest.mark.parametrize(("second", "code"), [(2, 0), (3, 1)])
def test_judge_as_json(shell: Shell, second: int, code: int) -> None:
    (shell.directory / "case.vsm").write_text(TESTCASE.format(second))
    (shell.directory / "answer.vsm").write_text("nop\n")
    done = shell("mnc", "judge", "case.vsm", "answer.vsm", "--format", "json")
    assert done.code == code, done.err
    found = json.loads(done.out)
    assert found["passed"] is (code == 0) and len(found["mismatches"]) == code
    assert found["compared"] == 2


def test_errors_are_json_too(shell: Shell) -> None:
    done = shell("mnc", "check", "absent.onnx", "--format", "json")
    assert done.code == 2 and "error:" in done.err
    error = json.loads(done.out)["error"]
    assert error["exit_code"] == 2 and error["location"] == "absent.onnx"


def test_no_color_is_heeded(shell: Shell, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in shell("mnc", "check", model).out
    monkeypatch.setenv("NO_COLOR", "1")
    out = shell("mnc", "check", model).out
    assert not [code for code in range(30, 48) if f"\x1b[{code}m" in out]


def test_progress_shows_stage_pass_and_node() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    line = ProgressLine("compile", 0.0, console)
    threads = threading.active_count()
    with events.listening(line), events.span("stage", "machine"), events.span("pass", "schedule"):
        events.emit("node", "conv[1]" + "x" * 60)
        assert line.text.startswith("compile: machine · schedule · conv[1]xxx")
        assert len(line.text) < 80
        assert threading.active_count() == threads, "a process with threads does not fork"
        with events.span("pass", "verify-schedule"):
            assert line.text == "compile: machine · verify-schedule"
    written = len(console.file.getvalue())  # pyright: ignore[reportAttributeAccessIssue]
    console.file.write("result")  # where nothing is under way, a command may print: the line is gone
    line.stop()
    assert line.text == "compile" and len(console.file.getvalue()) == written + 6  # pyright: ignore
    assert "machine" in console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def test_nobody_listens_after_the_block() -> None:
    seen: list[str] = []
    with pytest.raises(ValueError, match="x"), events.listening(lambda event: seen.append(event.name)):
        events.emit("stage", "a")
        raise ValueError("x")
    events.emit("stage", "b")
    assert seen == ["a"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: Shell, name: str) -> None:
    done = shell("mnc", "completion", name)
    assert done.code == 0
    assert all(f"_{tool}_COMPLETE={name}_complete" in done.out for tool in ("MNC", "MNC_OPT", "MNC_TRANSLATE"))


def test_completion_knows_the_commands(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MNC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("COMP_WORDS", "mnc comp")
    assert shell("mnc").out.split() == ["plain,compile", "plain,completion"]
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("COMP_WORDS", "mnc compile --log")
    assert shell("mnc").out.split() == ["plain,--log-json"]


def test_completion_knows_rules_opcodes_and_names_of_the_program(
    shell: Shell, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("mnc", "compile", model, "-o", "out", "-q").code == 0
    monkeypatch.setenv("_MNC_COMPLETE", "bash_complete")

    def completed(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        return [line.removeprefix("plain,") for line in shell("mnc").out.split()]

    assert completed("mnc", "asm", "explain", "hazard-9") == ["hazard-9a", "hazard-9b", "hazard-9c", "hazard-9e"]
    assert "fvadd" in completed("mnc", "asm", "opcode", "fva")
    assert completed("mnc", "explain", "out", "--node", "f") == ["first"]
    assert completed("mnc", "explain", "out", "--tensor", "e") == ["e"]
    assert completed("mnc", "explain", "absent", "--node", "f") == []


def test_a_misspelt_file_gets_a_proposal(shell: Shell, model: str) -> None:
    assert "did you mean m.onnx?" in shell("mnc", "compile", "n.onnx").err
    assert "check the path" in shell("mnc", "compile", "elsewhere.tflite").err
    (shell.directory / "answer.vsm").write_text("nop\n")
    assert "did you mean answer.vsm?" in shell("mnc", "run", "answr.vsm").err
    (shell.directory / "answer").mkdir()
    assert "give a file in it" in shell("mnc", "asm", "check", "answer").err
    (shell.directory / "answer" / "program.vsm").write_text("nop\n")
    assert "its program is answer/program.vsm" in shell("mnc", "asm", "check", "answer").err


def test_commands_with_bars_print_nothing_else_in_a_pipe(shell: Shell, model: str) -> None:
    done = shell("mnc", "tune", model, "--budget", "0.5s")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0].endswith("nothing is left to try") or " tried (" in done.out.splitlines()[0]
    done = shell("mnc", "tune", model, "--budget", "0.5s", "-q")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_bars_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert progress_bar().disable
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not progress_bar().disable
    with without_bars():
        assert progress_bar().disable


def test_the_line_of_progress_makes_room_for_a_bar() -> None:
    line = ProgressLine("train", 0.0, Console(file=io.StringIO(), force_terminal=True))
    with events.listening(line):
        events.emit("stage", "graph")
        events.emit(events.BAR, "training")
        written = line.text
        events.emit("stage", "emulator")
    assert line.text == written == "train: graph"


def test_misspelt_commands_get_a_proposal(shell: Shell) -> None:
    done = shell("mnc", "compil", "m.onnx")
    assert done.code == 2 and "'compile'" in done.err and "Usage:" in done.err
    assert "Did you mean" not in shell("mnc", "frobnicate").err


def test_doctor(shell: Shell, tmp_path: Path) -> None:
    found = json.loads(shell("mnc", "doctor", "--format", "json").out)
    assert found["passed"] is True
    assert {"python", "mnc", "torch-mlir", "onnx"} <= set(found["versions"])
    assert [test["name"] for test in found["self_test"]] == ["compile", "emulate"]


def test_doctor_tells_what_fails(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise OSError("no such library")

    monkeypatch.setattr("mnc.self_test._emulate", broken)
    done = shell("mnc", "doctor")
    assert done.code == 1 and "FAIL" in done.out and "OSError: no such library" in done.out


def _commands(group: click.Group) -> Iterator[click.Command]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from _commands(command)


def test_every_command_and_option_is_explained() -> None:
    for command in _commands(cli):
        assert command.help and not command.get_short_help_str(60).endswith("..."), command.name
        unexplained = [option.name for option in command.params if isinstance(option, click.Option) and not option.help]
        assert not unexplained, (command.name, unexplained)
