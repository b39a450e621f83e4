"""The debugger part of `mnc run`: a program on the emulator, statement by statement."""

from pathlib import Path

import click

from mnc.core.command_line import read_text
from mnc.core.diagnostics import CompileError
from mnc.tools.commands.shared import read_arrays, require_inputs


def run_step(program: Path, inputs: tuple[str, ...], mode: str, dirty: int | None = None) -> None:
    """Debug an assembly file, or a build directory with values of its inputs. Commands come from standard input.

    Raises AsmSyntaxError, EmulationError for rules that are broken before the first statement, CompileError.
    """
    from mnc.debugger.prompt import Prompt
    from mnc.debugger.session import Session
    from mnc.mncore_backend.emulator import Machine

    if program.is_dir():
        from mnc.build_directory import load
        from mnc.mncore_backend.target import named

        executable = load(program)
        values = read_arrays(inputs, [tensor.name for tensor in executable.inputs])
        require_inputs(values, executable.inputs)
        machine = Machine(mode, output=click.echo, dirty=dirty, target=named(executable.machine))
        executable.load(machine, values)
        text, nodes = executable.text, executable.line_nodes
    elif inputs:
        raise CompileError(f"{program} is no build directory", hint="--input belongs to compiled models")
    else:
        machine = Machine(mode, output=click.echo, dirty=dirty)
        text, nodes = read_text(str(program)), ()
    machine.load_text(text, str(program))
    Prompt(Session(machine, text, nodes)).cmdloop()
