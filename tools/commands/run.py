"""mnc run: a build directory or an assembly file on the emulator."""

import itertools
from collections.abc import Iterable
from pathlib import Path

import click
import numpy as np

from mnc.core.diagnostics import CompileError, one_line
from mnc.core.files import whole_file
from mnc.core.sequences import tensors_of
from mnc.tools.commands.machine_option import machine_option, use_machine_of, use_machine_of_file
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import read_arrays, require_inputs

_LONGEST = 200
"""Bytes of a name of a file; file systems take 255, with what is put behind it."""


@click.command()
@click.argument("program", type=GivenPath())
@click.option("--input", "inputs", multiple=True, metavar="[NAME=]FILE.npy", help="Value of a model input.")
@click.option("-o", "--output", type=GivenPath(), help="Directory for NAME.npy of every output.")
@click.option("--mode", type=click.Choice(["strict", "vendor"]), help="[default: strict; vendor with --dirty]")
@click.option("--dirty", type=click.IntRange(0), metavar="SEED", help="Random words in all memories at the start.")
@click.option("--step", is_flag=True, help="Stop before every statement and take commands from standard input.")
@click.option("--dump", type=GivenPath(), help="File for the lines of debug statements.")
@click.option("--trace", type=GivenPath(), metavar="FILE.pftrace", help="Write a trace for Perfetto.")
@machine_option
def command(
    program: Path, inputs: tuple[str, ...], output: Path | None, mode: str | None, dirty: int | None, step: bool,
    dump: Path | None, trace: Path | None,
) -> None:  # fmt: skip
    """Run PROGRAM: a build directory of `mnc compile`, or a .vsm file."""
    if dirty is not None and mode == "strict":
        hint = "strict mode follows the words that nobody wrote and finds results that depend on them"
        raise CompileError("--dirty is for --mode vendor", hint=hint)
    mode = mode or ("strict" if dirty is None else "vendor")
    _use_machine(program)
    if trace is not None:
        _write_trace(program, trace)
    if step:
        if output is not None or dump is not None:
            raise CompileError("--step writes no files", hint="leave -o and --dump out; 'mem' prints memory")
        from mnc.tools.commands.run_step import run_step

        run_step(program, inputs, mode, dirty)
        return
    if program.is_dir():
        if dump is not None:
            raise CompileError(f"{program} has no debug statements", hint="--dump belongs to assembly files")
        _run_build(program, inputs, output, mode, dirty)
        return
    if inputs or output:
        raise CompileError(f"{program} is no build directory", hint="--input and -o belong to compiled models")
    if program.suffix == ".onnx":
        hint = f"compile it first: mnc compile {program} -o build"
        raise CompileError(f"{program} is a model, not a program", hint=hint)
    from mnc.tools.commands.run_vsm import run_vsm

    run_vsm(program, mode, dump, dirty)


def _use_machine(program: Path) -> None:
    """A program that names its machine runs on that one."""
    from mnc.build_directory import machine_of_directory

    if not program.is_dir():
        use_machine_of_file(program)
    elif (name := machine_of_directory(program)) is not None:
        use_machine_of(name, str(program))


def _write_trace(program: Path, trace: Path) -> None:
    """The times of the program, by the same model of transfers as the emulator's."""
    from mnc.core.command_line import read_text
    from mnc.core.files import PROGRAM
    from mnc.perfetto_trace import write_trace
    from mnc.record.storage import RECORD, load_record

    if not program.is_dir():
        write_trace(trace, read_text(str(program)), None, source=str(program))
        return
    record = load_record(program) if (program / RECORD).is_file() else None
    source = str(program / PROGRAM)
    write_trace(trace, read_text(source), record, source=source)


def _run_build(program: Path, inputs: tuple[str, ...], output: Path | None, mode: str, dirty: int | None) -> None:
    from mnc.build_directory import load
    from mnc.report import statistics_line

    executable = load(program)
    values = read_arrays(inputs, [tensor.name for tensor in executable.inputs])
    require_inputs(values, executable.inputs)
    result = executable.run_with_statistics(values, mode=mode, dirty=dirty)
    tensors = tensors_of(result.outputs)
    if output is not None:
        _save(tensors, output)
    for name, value in tensors.items():
        first = np.array2string(value.reshape(-1)[:6], precision=6)
        click.echo(f"{one_line(name)}: {value.dtype}{list(value.shape)} {first}")
    for name, value in result.outputs.items():
        if value is None or (isinstance(value, list) and not value):
            click.echo(f"{one_line(name)}: {'no value' if value is None else 'no elements'}")
    click.echo(statistics_line(result.statistics))


def file_names(names: Iterable[str]) -> list[str]:
    """A name of a file for every name of a tensor: without slashes, not too long, and different from all others."""
    taken: list[str] = []
    for name in names:
        base = name.replace("/", "_").replace("\0", "_").encode()[:_LONGEST].decode(errors="ignore")
        alternatives = (f"{base}_{number}" for number in itertools.count(2))
        taken.append(base if base not in taken else next(other for other in alternatives if other not in taken))
    return taken


def _save(outputs: dict[str, np.ndarray], directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, value in zip(file_names(outputs), outputs.values(), strict=True):
            with whole_file(directory / f"{name}.npy", "choose another directory with -o") as file:
                np.save(file, value)
    except OSError as error:
        message = f"cannot write {directory}: {error.strerror}"
        raise CompileError(message, hint="choose another directory with -o") from None
