"""``--machine`` of every command that works with programs: what it changes, and what is refused."""

import json

import onnx
import pytest
from onnx import helper

import mnc
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import SMALL, chip, named, use
from mnc.mncore_backend.target.memories import LEAST

from .model_files import model
from .running import Shell
from .test_bad_models import assert_refused

FAR = 'imm ui"7" $ln3000v\nd get $ln3000n0c0b0m0p0 4\n'
LARGE = "mn-core-2,LM0=8192"
PLACED = 'memref<3000x2xf32, #mncore.placed<"LM0", "3000x2", "((3000:1), (2_W:1))">>'
HOST = 'memref<3000x2xf32, #mncore.memory<"DRAM">>'
LOADED = f"""func.func @main(%x: {HOST}, %a: {PLACED}) {{
  "mncore.dl"(%x, %a) : ({HOST}, {PLACED}) -> ()
  return
}}"""


def ir(machine: str | None) -> str:
    """A module whose buffer is larger than LM0 of MN-Core 2."""
    attributes = "" if machine is None else f'attributes {{mncore.machine = "{machine}"}} '
    return f"module {attributes}{{\n{LOADED}\n}}\n"


@pytest.fixture
def small_build(shell: Shell) -> Shell:
    """A shell in which ``build`` holds a program for the small machine."""
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    onnx.save(model([node], {"x": [16, 8]}, {"y": [16, 8]}), shell.directory / "model.onnx")
    done = shell("mnc", "compile", "model.onnx", "-o", "build", "--machine", "small")
    assert done.code == 0, done.err
    return shell


WITH_A_FILE = [
    ("mnc", "run", "x.vsm"), ("mnc", "asm", "check", "x.vsm"), ("mnc", "judge", "x.vsm", "x.vsm"), ("mnc", "machine"),
    ("mnc", "compile", "x.onnx"), ("mnc", "check", "x.onnx"), ("mnc", "placement", "x.vsm"), ("mnc-opt", "x.vsm"),
    ("mnc-translate", "x.vsm"),
]  # fmt: skip


@pytest.mark.parametrize("command", WITH_A_FILE, ids=" ".join)
def test_a_wrong_name_gets_the_names_that_there_are(shell: Shell, command: tuple[str, ...]) -> None:
    (shell.directory / "x.vsm").write_text("nop\n")
    assert_refused(shell(*command, "--machine", "tiny"), "there is no machine 'tiny'; there are: mn-core-2, small")
    assert_refused(shell(*command, "--machine", "small,LM0=many"), "'LM0=many' is no number of a machine")


@pytest.mark.parametrize("memory", ["LM0", "GRF0", "GRF1"])
def test_a_memory_too_small_for_any_product_is_refused(memory: str) -> None:
    least = LEAST[Memory[memory]]
    assert named(f"small,{memory}={least}").sizes[Memory[memory]] == least
    with pytest.raises(ValueError, match=f"{memory} has at least {least} addresses, not {least // 2}"):
        named(f"small,{memory}={least // 2}")


def test_the_machine_is_left_when_a_command_ends(shell: Shell) -> None:
    assert shell("mnc", "machine", "--machine", "small").code == 0
    assert chip() is named("mn-core-2")


def test_options_are_for_the_machine_in_use() -> None:
    with use(SMALL):
        assert mnc.Options().machine == "small"
    assert mnc.Options().machine == "mn-core-2"


def test_the_table_of_numbers(shell: Shell) -> None:
    tables = [json.loads(shell("mnc", "machine", "hierarchy", "--format", "json", *more).out)
              for more in ([], ["--machine", "small"])]  # fmt: skip
    assert "4096" in str(tables[0]) and "4096" not in str(tables[1]) and "64" in str(tables[1])


def test_a_program_runs_on_the_machine_that_was_asked_for(shell: Shell) -> None:
    """Memory that the smaller machine lacks."""
    (shell.directory / "far.vsm").write_text(FAR)
    assert shell("mnc", "run", "far.vsm").code == 0
    assert_refused(shell("mnc", "run", "far.vsm", "--machine", "mn-core-2,LM1=1024"), "far.vsm")
    (shell.directory / "farther.vsm").write_text(FAR.replace("3000", "6000"))
    assert shell("mnc", "run", "farther.vsm").code == 2
    assert shell("mnc", "run", "farther.vsm", "--machine", "mn-core-2,LM1=8192").code == 0


def test_a_program_is_checked_for_the_machine_that_was_asked_for(shell: Shell) -> None:
    (shell.directory / "far.vsm").write_text(FAR)
    assert shell("mnc", "asm", "check", "far.vsm").code == 0
    done = shell("mnc", "asm", "check", "far.vsm", "--machine", "mn-core-2,LM1=1024")
    assert done.code == 1 and "3000" in done.out


def test_places_that_a_machine_does_not_have_are_refused(shell: Shell) -> None:
    """The small machine has four MABs in an L1B."""
    (shell.directory / "case.vsm").write_text(f"d get $ln0n0c0b0m5p0 1 # expect=[{7 << 32 | 7}]\n")
    (shell.directory / "answer.vsm").write_text('imm ui"7" $ln0v\n')
    assert "PASS" in shell("mnc", "judge", "case.vsm", "answer.vsm").out
    done = shell("mnc", "judge", "case.vsm", "answer.vsm", "--machine", "small")
    assert done.code in (1, 2) and "PASS" not in done.out and "there is no m5" in done.out + done.err
    (shell.directory / "get.vsm").write_text('imm ui"7" $ln0v\nd get $ln0n0c0b0m5p0 1\n')
    for mode in ("strict", "vendor"):
        assert_refused(shell("mnc", "run", "get.vsm", "--machine", "small", "--mode", mode), "there is no m5")
    done = shell("mnc", "asm", "check", "get.vsm", "--machine", "small")
    assert done.code == 1 and "there is no m5" in done.out
    assert shell("mnc", "asm", "check", "get.vsm").code == 0


def test_a_saved_program_is_read_with_its_own_machine(small_build: Shell) -> None:
    for command in (["run", "build/program.vsm"], ["asm", "check", "build/program.vsm"],
                    ["explain", "build", "--step", "3"], ["explain", "build", "--node", "relu"]):  # fmt: skip
        done = small_build("mnc", *command)
        assert done.code == 0, (command, done.err, done.out)
        refused = small_build("mnc", *command, "--machine", "mn-core-2") if command[0] != "explain" else None
        if refused is not None:
            assert_refused(refused, "is for the machine small, and --machine says mn-core-2")
    assert_refused(small_build("mnc", "run", "build", "--machine", "mn-core-2"), "is for the machine small")


def test_a_model_is_checked_on_the_machine_that_was_asked_for(small_build: Shell) -> None:
    assert small_build("mnc", "check", "model.onnx", "--machine", "small").code == 0


def test_a_saved_problem_names_its_machine(small_build: Shell) -> None:
    first = small_build("mnc", "placement", "model.onnx", "--machine", "small", "--save", "problem.json")
    assert first.code == 0, first.err
    assert small_build("mnc", "placement", "problem.json").out == first.out
    assert small_build("mnc", "placement", "model.onnx").out != first.out
    refused = small_build("mnc", "placement", "problem.json", "--machine", "mn-core-2")
    assert_refused(refused, "is for the machine small")


def test_layouts_are_checked_with_the_numbers_of_the_machine(shell: Shell) -> None:
    assert_refused(shell("mnc-opt", stdin=ir(None)), "do not fit LM0")
    assert_refused(shell("mnc-opt", stdin=ir("small")), "do not fit LM0")
    named_in_text = shell("mnc-opt", stdin=ir(LARGE))
    assert named_in_text.code == 0, named_in_text.err
    asked = shell("mnc-opt", "--machine", LARGE, stdin=ir(None))
    assert asked.code == 0, asked.err
    assert asked.out == named_in_text.out and f'mncore.machine = "{LARGE}"' in asked.out
    assert shell("mnc-opt", f"-machine={LARGE}", stdin=ir(LARGE)).out == asked.out
    refused = shell("mnc-opt", "--machine", "mn-core-2,LM0=4096", stdin=ir(LARGE))
    assert_refused(refused, f"is for the machine {LARGE}, and --machine says mn-core-2,LM0=4096")


def test_bytecode_is_checked_with_the_numbers_of_its_machine(shell: Shell) -> None:
    assert shell("mnc-opt", "--emit-bytecode", "-o", "m.mlirbc", stdin=ir(LARGE)).code == 0
    done = shell("mnc-opt", "m.mlirbc")
    assert done.code == 0 and f'mncore.machine = "{LARGE}"' in done.out


def test_parts_of_a_file_have_machines_of_their_own(shell: Shell) -> None:
    text = "\n// -----\n".join([ir(LARGE), ir("mn-core-2,LM0=16384")])
    done = shell("mnc-opt", "--split-input-file", stdin=text)
    assert done.code == 0 and "LM0=16384" in done.out and LARGE in done.out
    assert_refused(shell("mnc-opt", "--split-input-file", stdin=f"{text}\n// -----\n{ir(None)}"), "do not fit LM0")


def test_a_model_is_translated_for_the_machine_that_was_asked_for(small_build: Shell) -> None:
    done = small_build("mnc-translate", "--import-onnx", "model.onnx", "--machine", "small")
    assert done.code == 0 and 'mncore.machine = "small"' in done.out
    assert "mncore.machine" not in small_build("mnc-translate", "--import-onnx", "model.onnx").out
