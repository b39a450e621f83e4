"""Malformed MLIR, pipelines, assembly, build directories and arrays: one message with the place, exit code 2."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import mnc
from mnc.core.diagnostics import CompileError
from mnc.core.nesting_pass import NestingPass
from mnc.lowering.onnx_to_graph.onnx_file import read_proto

from .model_files import tiny
from .running import Shell
from .test_bad_models import assert_refused

GOOD_IR = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("func.func @f() {\n  return\n", ["in.mlir:2:"]),
        ('func.func @f() {\n  "graph.nothing"() : () -> ()\n  return\n}', ["in.mlir:2:3", "graph.nothing"]),
        ("func.func @f(%x: tensor<2xf32>) {\n  return %x : tensor<2xf32>\n}", ["in.mlir:2:3"]),
        ("\x00\x01", ["in.mlir:1:2"]),
    ],
)
@pytest.mark.parametrize("command", [("mnc-opt",), ("mnc-translate", "--emit-vsm")])
def test_malformed_mlir(shell: Shell, command: tuple[str, ...], text: str, words: list[str]) -> None:
    (shell.directory / "in.mlir").write_text(text)
    assert_refused(shell(*command, "in.mlir", "-o", "out"), *words)
    assert shell.files() == {"in.mlir"}


def test_bytes_that_are_no_text(shell: Shell) -> None:
    (shell.directory / "in.bin").write_bytes(b"\xff\xfe\x00")
    for command in (("mnc-opt",), ("mnc-translate", "--emit-vsm"), ("mnc", "asm", "check"), ("mnc", "run")):
        assert_refused(shell(*command, "in.bin"), "in.bin", "hint")


def test_a_model_that_is_not_there(shell: Shell) -> None:
    for command in ("supports", "compile", "check", "tune"):
        assert_refused(shell("mnc", command, "lost.onnx"), "lost.onnx", "No such file", "hint")


@pytest.mark.parametrize("command", ["supports", "compile", "tune"])
def test_what_is_no_model(shell: Shell, command: str) -> None:
    (shell.directory / "folder").mkdir()
    assert_refused(shell("mnc", command, "folder"), "folder", "Is a directory", "hint")
    (shell.directory / "short.onnx").write_bytes(tiny().SerializeToString()[:-5])
    assert_refused(shell("mnc", command, "short.onnx"), "short.onnx", "truncated", "hint")


def test_a_model_is_not_explained_before_it_is_compiled(shell: Shell) -> None:
    onnx.save(tiny(), shell.directory / "model.onnx")
    assert_refused(shell("mnc", "explain", "model.onnx"), "'model.onnx' is neither a build directory", "mnc compile")


def test_training_that_cannot_begin_leaves_no_directory(shell: Shell) -> None:
    assert_refused(shell("mnc", "train", "--data", "lost"), "there is no data set 'lost'")
    assert not list(shell.directory.iterdir())


def test_the_mark_that_editors_set_in_front_of_a_text(shell: Shell) -> None:
    (shell.directory / "in.vsm").write_bytes(b"\xef\xbb\xbfnop\r\nlpassa $peid $lr0\r\n")
    for command in (("asm", "check"), ("asm", "fmt"), ("run",)):
        assert shell("mnc", *command, "in.vsm").code == 0


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [
        ("canonicalize", ["<pipeline>:1:1", "builtin.module("]),
        ("builtin.module(canonicalize", ["<pipeline>:1:", "expected"]),
        ("builtin.module(canonicalise)", ["<pipeline>:1:16", "canonicalise"]),
        ("builtin.module(graph-to-linag)", ["did you mean 'graph-to-linalg'?"]),
        ("builtin.module(assign-layouts{precison=single})", ["<pipeline>:1:16", "precison", "its options are"]),
        ("builtin.module(assign-layouts{precision=quarter})", ["<pipeline>:1:16", "'quarter' is not one of"]),
        ("builtin.module(func.func(schedule))", ["<pipeline>:1:", "schedule", "hint"]),
    ],
)
def test_malformed_pipeline(shell: Shell, pipeline: str, words: list[str]) -> None:
    assert_refused(shell("mnc-opt", f"--pass-pipeline={pipeline}", "-o", "out", stdin=GOOD_IR), *words)
    assert not shell.files()


def test_unscheduled_module_has_no_assembly(shell: Shell) -> None:
    ir = """func.func @main() {
      "mncore.instruction"() {text = "nop | ->"} : () -> ()
      return
    }"""
    assert_refused(shell("mnc-translate", "--emit-vsm", stdin=ir), "unscheduled", "hint")


@pytest.mark.parametrize("action", ["--emit-vsm", "--emit-cpp"])
@pytest.mark.parametrize("stages", ["", "graph-to-linalg"])
def test_a_module_of_an_earlier_stage_is_no_program(shell: Shell, action: str, stages: str) -> None:
    onnx.save(tiny(), shell.directory / "tiny.onnx")
    assert shell("mnc-translate", "--import-onnx", "tiny.onnx", "-o", "tiny.mlir").code == 0
    assert shell("mnc-opt", "tiny.mlir", f"--pass-pipeline=builtin.module({stages})", "-o", "in.mlir").code == 0
    assert_refused(shell("mnc-translate", action, "in.mlir", "-o", "out"), "in.mlir", "hint")


@pytest.mark.parametrize("actions", [[], ["--import-onnx", "--emit-vsm"], ["--emit-vsm", "--emit-cpp"]])
def test_one_direction_is_chosen(shell: Shell, actions: list[str]) -> None:
    done = shell("mnc-translate", *actions, "tiny.onnx")
    assert_refused(done, "several directions" if actions else "nothing to do", "hint: choose one of")


def test_a_model_comes_from_standard_input(tmp_path: Path) -> None:
    data = tiny().SerializeToString()
    command = [sys.executable, "-m", "mnc.tools.mnc_translate", "--import-onnx"]
    done = subprocess.run(command, input=data, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0 and b"graph." in done.stdout, done


def test_a_later_stage_is_no_cpp(shell: Shell) -> None:
    onnx.save(tiny(), shell.directory / "tiny.onnx")
    assert shell("mnc", "compile", "tiny.onnx", "--dump-dir", "ir", "--no-cache").code == 0
    for stage in (shell.directory / "ir").iterdir():
        assert_refused(shell("mnc-translate", "--emit-cpp", stage), stage.name)


@pytest.mark.parametrize("end", ["graph-to-linalg", "drop-empty", "distribute", "select-instructions"])
def test_a_pipeline_cut_short_gives_no_empty_program(end: str) -> None:
    """Without the passes around those that they repeat."""
    whole = mnc.default_pipeline()
    passes = [entry for entry in whole.all_entries if not isinstance(entry, NestingPass)]
    cut = tuple(passes[: [entry.name for entry in passes].index(end)])
    with pytest.raises(CompileError, match="earlier stage"):
        mnc.compile(tiny(), pipeline=replace(whole, entries=cut))


def test_a_search_cut_short_has_nothing_to_compare() -> None:
    cut = mnc.default_pipeline().remove("verify-schedule").remove("schedule")
    with pytest.raises(CompileError, match="shortest has no pass 'schedule' inside"):
        mnc.compile(tiny(), pipeline=cut)


def test_what_nothing_fills_is_no_program() -> None:
    cut = mnc.default_pipeline(mnc.Options(resident="state", prefer=())).remove("add-companions")
    with pytest.raises(CompileError, match="nothing fills it") as raised:
        mnc.compile(tiny(), pipeline=cut)
    assert raised.value.hint and "add-companions" in raised.value.hint


ASSEMBLY = {
    "nop\nfrobnicate $lr0\n": ["in.vsm:2:1", "frobnicate"],
    "nop\nfvadd $lr0\n": ["in.vsm:2:"],
    "ipassa $lr0 $lq0\n": ["in.vsm:1:13", "$lq0"],
    "mvp/n64i01 $d0\n": ["in.vsm:1:"],
}


@pytest.mark.parametrize("text", ASSEMBLY)
@pytest.mark.parametrize("command", [("run",), ("asm", "fmt")])
def test_malformed_assembly(shell: Shell, command: tuple[str, ...], text: str) -> None:
    (shell.directory / "in.vsm").write_text(text)
    assert_refused(shell("mnc", *command, "in.vsm"), *ASSEMBLY[text])


@pytest.mark.parametrize("text", ASSEMBLY)
def test_checker_names_the_place(shell: Shell, text: str) -> None:
    (shell.directory / "in.vsm").write_text(text)
    done = shell("mnc", "asm", "check", "in.vsm")
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    for word in ASSEMBLY[text]:
        assert word in done.out + done.err


def test_broken_rule_at_run_time(shell: Shell) -> None:
    """What nobody wrote may be moved, but not shown; the message says where it was read first."""
    (shell.directory / "in.vsm").write_text("nop\nipassa $lr8 $lm8\nnop\nnop\nnop\nd getd $lm8n0c0b0m0p0 1\n")
    assert_refused(shell("mnc", "run", "in.vsm"), "in.vsm:6", "uninitialised", "line 2")


@pytest.mark.parametrize("command", [("run",), ("asm", "check"), ("asm", "fmt"), ("compile",), ("check",)])
def test_missing_file(shell: Shell, command: tuple[str, ...]) -> None:
    assert_refused(shell("mnc", *command, "absent"), "absent")
    assert not shell.files()


def test_judge(shell: Shell) -> None:
    (shell.directory / "case.vsm").write_text("d getf $lm0n0c0b0m0p0 1 # expect=[nonsense] atol=0.1\n")
    (shell.directory / "answer.vsm").write_text("nop\n")
    (shell.directory / "bad.vsm").write_text("frobnicate\n")
    assert_refused(shell("mnc", "judge", "absent.vsm", "answer.vsm"), "absent.vsm")
    assert_refused(shell("mnc", "judge", "case.vsm", "absent.vsm"), "absent.vsm")
    assert_refused(shell("mnc", "judge", "case.vsm", "answer.vsm"), "case.vsm:1")
    assert_refused(shell("mnc", "judge", "answer.vsm", "bad.vsm"), "bad.vsm:1:1")


def test_a_testcase_without_expectations_judges_nothing(shell: Shell) -> None:
    """Most often the two files stand in the wrong order."""
    (shell.directory / "case.vsm").write_text("d getf $lm0n0c0b0m0p0 1 # expect=[0, 0]\n")
    (shell.directory / "answer.vsm").write_text("nop\n")
    assert shell("mnc", "judge", "case.vsm", "answer.vsm").code == 0
    assert_refused(shell("mnc", "judge", "answer.vsm", "case.vsm"), "answer.vsm", "expects nothing", "comes first")


@pytest.fixture
def build(shell: Shell) -> Path:
    """A good build directory with an input file x.npy beside it."""
    onnx.save(tiny(), shell.directory / "tiny.onnx")
    done = shell("mnc", "compile", "tiny.onnx", "-o", "good")
    assert done.code == 0, done.err
    np.save(shell.directory / "x.npy", np.ones((16, 8), np.float32))
    assert shell("mnc", "run", "good", "--input", "x.npy").code == 0
    return shell.directory / "good"


def _rewrite(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _shrink(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


DAMAGE = {
    "no map": lambda build: (build / "memory_map.json").unlink(),
    "no program": lambda build: (build / "program.vsm").unlink(),
    "no arrays": lambda build: (build / "tensors.npz").unlink(),
    "no JSON": lambda build: (build / "memory_map.json").write_text("{ nonsense"),
    "JSON of something else": lambda build: (build / "memory_map.json").write_text("[1, 2]"),
    "a tensor without fields": lambda build: _rewrite(build / "memory_map.json", tensors=[{"name": "x"}]),
    "no line nodes": lambda build: _rewrite(build / "memory_map.json", line_nodes=None),
    "another format": lambda build: _rewrite(build / "memory_map.json", format=99),
    "truncated arrays": lambda build: _shrink(build / "tensors.npz"),
    "arrays of something else": lambda build: zipfile.ZipFile(build / "tensors.npz", "w").close(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_build_directory(shell: Shell, build: Path, damage: str) -> None:
    DAMAGE[damage](build)
    before = shell.files()
    assert_refused(shell("mnc", "run", "good", "--input", "x.npy", "-o", "out"), "good")
    assert shell.files() == before


def test_damaged_program_names_its_line(shell: Shell, build: Path) -> None:
    (build / "program.vsm").write_text("nop\nfrobnicate\n")
    assert_refused(shell("mnc", "run", "good", "--input", "x.npy"), "program.vsm:2:1")


INPUTS = {
    "nothing": ((), ["input 'x'", "hint"]),
    "a missing file": (("--input", "x=absent.npy"), ["absent.npy"]),
    "no array": (("--input", "x=tiny.onnx"), ["tiny.onnx", "no array of numbers", "hint"]),
    "a truncated array": (("--input", "x=short.npy"), ["short.npy", "hint"]),
    "pickled objects": (("--input", "x=objects.npy"), ["objects.npy", "no array of numbers", "hint"]),
    "another shape": (("--input", "x=wide.npy"), ["input 'x'", "[16, 9]", "[16, 8]"]),
    "another name": (("--input", "x=x.npy", "--input", "z=x.npy"), ["'z'", "hint"]),
    "complex numbers": (("--input", "x=complex.npy"), ["input 'x'", "complex"]),
}


@pytest.mark.parametrize("what", INPUTS)
@pytest.mark.parametrize("command", ["run", "check"])
def test_bad_inputs(shell: Shell, build: Path, command: str, what: str) -> None:
    arguments, words = INPUTS[what]
    if command == "check" and not arguments:
        pytest.skip("check draws the inputs that are not given")
    (shell.directory / "short.npy").write_bytes((shell.directory / "x.npy").read_bytes()[:200])
    np.save(shell.directory / "objects.npy", np.array([{}]), allow_pickle=True)
    np.save(shell.directory / "wide.npy", np.ones((16, 9), np.float32))
    np.save(shell.directory / "complex.npy", np.ones((16, 8), np.complex64))
    before = shell.files()
    target = build.name if command == "run" else "tiny.onnx"
    assert_refused(shell("mnc", command, target, *arguments), *words)
    assert shell.files() == before


def test_outputs_that_cannot_be_written(shell: Shell, build: Path) -> None:
    (shell.directory / "file").write_text("in the way")
    assert_refused(shell("mnc", "run", "good", "--input", "x.npy", "-o", "file/out"), "file/out")
    assert_refused(shell("mnc", "compile", "tiny.onnx", "-o", "file/out"), "file/out", "hint")
    assert_refused(shell("mnc", "compile", "tiny.onnx", "-o", "file"), "file: it is a file", "hint")
    assert_refused(shell("mnc", "compile", "tiny.onnx", "--dump-dir", "file/out"), "file/out")
    assert_refused(shell("mnc-opt", "-o", "file/out", stdin=GOOD_IR), "file/out")
    assert_refused(shell("mnc-translate", "--import-onnx", "tiny.onnx", "-o", "absent/out"), "absent/out")


@pytest.mark.parametrize(
    "arguments",
    [("mnc", "frobnicate"), ("mnc", "run"), ("mnc", "compile", "--frobnicate"), ("mnc", "machine", "weather"),
     ("mnc", "check", "m.onnx", "--precision", "quarter"), ("mnc-translate", "a", "b")],
)  # fmt: skip
def test_misused_command_line(shell: Shell, arguments: tuple[str, ...]) -> None:
    done = shell(*arguments)
    assert done.code == 2
    assert "Usage:" in done.err and "Error:" in done.err


def test_a_pipe_that_was_read_is_told_apart_from_what_is_no_model() -> None:
    """A model from a pipe is there for one reader only, and commands read it again."""
    reading, writing = os.pipe()
    os.close(writing)
    with pytest.raises(CompileError, match="a pipe can be read only once"):
        read_proto(f"/dev/fd/{reading}")
    os.close(reading)
