"""What remains, as a folder that shows it again: model, inputs, expectation, IR, assembly and the command."""

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import onnx

from mnc.case_folders import Case, write_case
from mnc.core.diagnostics import CompileError
from mnc.core.files import PROGRAM, replace_file
from mnc.core.state_directory import recording_in
from mnc.options import Options
from mnc.reduction.reduce import Reduced

MODEL = "model.onnx"
README = "README.txt"
_HINT = "choose another directory with -o"
_MADE_BY_US = re.compile(r"(wrong|crash|refused|cycles).*\n\nmnc (compile|check) ", re.DOTALL)


def check_replaceable(directory: Path) -> None:
    """A folder of an earlier reduction, an empty one or none may be replaced. Raises CompileError for any other: what a
    user keeps there would be lost."""
    try:
        if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
            return
        if directory.is_dir() and _MADE_BY_US.match((directory / README).read_text(encoding="utf-8")):
            return
    except (OSError, UnicodeDecodeError):
        pass
    message = f"'{directory}' holds something else than a reduced model, and would be replaced"
    raise CompileError(message, hint="choose a directory with -o that is empty or does not exist")


def write_reduced(reduced: Reduced, when: str, directory: Path, options: Options, seed: int) -> tuple[Path, str]:
    """Write the folder; gives it and the command. Raises CompileError where it cannot be written, and for a
    directory that holds something else."""
    check_replaceable(directory)
    shutil.rmtree(directory, ignore_errors=True)
    try:
        return _write(reduced, when, directory, options, seed)
    except BaseException:  # half of a folder would be taken for something else the next time
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _write(reduced: Reduced, when: str, directory: Path, options: Options, seed: int) -> tuple[Path, str]:
    folder = _write_model(reduced.model, directory, seed)
    compiled = _write_stages(reduced.model, folder, options)
    precision = f" --precision {options.precision}"
    model, build = (shlex.quote(str(folder / name)) for name in (MODEL, "build"))
    command = f"mnc compile {model} -o {build}{precision}"
    if when in ("wrong", "crash") and compiled and (folder / "test_data_set_0").is_dir():
        command = f"mnc check {shlex.quote(str(folder))}{precision}"
    replace_file(folder / README, f"{when}: {reduced.seen.message}\n\n{command}\n", _HINT)
    return folder, command


def _write_model(model: onnx.ModelProto, directory: Path, seed: int) -> Path:
    """The model with inputs and what the reference makes of them; without data where it makes nothing."""
    from mnc.reference import evaluate, random_inputs

    try:
        inputs = random_inputs(model, {}, seed, {})
        names = [value.name for value in model.graph.output]
        case = Case(directory.name, model, dict(inputs), evaluate(model, names, inputs))
        return write_case(directory.parent, case, MODEL)
    except CompileError:
        pass
    except Exception:  # the reference raises whatever numpy and its operators raise
        shutil.rmtree(directory, ignore_errors=True)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        onnx.save(model, directory / MODEL)
    except OSError as error:
        message = f"cannot write {directory}: {error.strerror}"
        raise CompileError(message, hint=_HINT) from None
    return directory


def _write_stages(model: onnx.ModelProto, folder: Path, options: Options) -> bool:
    """The IR of every stage that is reached, and the program where there is one; a reproducer where the compiler fails.
    Whether there is a program."""
    from mnc.compiler import compile

    try:
        with recording_in(str(folder)):
            executable = compile(model, replace(options, dump_dir=folder / "ir"))
    except Exception:  # the refusal or crash that is looked for
        return False
    replace_file(folder / PROGRAM, executable.text, _HINT)
    return True
