"""``--machine``: which machine a command works for. One option for all commands; what they call asks `chip()`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError

_ASKED = "mnc.machine"
_HINT = "write it as small, or as mn-core-2,LM0=2048"


def _use(context: click.Context, _: click.Parameter, text: str | None) -> None:
    """Work for this machine until the command ends."""
    if text is None:
        return
    from mnc.mncore_backend.target import named, use

    try:
        machine = named(text)
    except ValueError as error:
        raise CompileError(f"--machine: {error}", hint=_HINT) from None
    context.meta[_ASKED] = machine
    context.with_resource(use(machine))


def machine_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option. Without it commands work for MN-Core 2, or for the machine that a program names."""
    return click.option(
        "--machine", metavar="NAME[,NUMBER=N]...", expose_value=False, callback=_use,
        help="The machine: mn-core-2 (default), small, or mn-core-2,LM0=2048 with half of a memory.",
    )(command)  # fmt: skip


def asked_machine() -> Any | None:
    """The machine that the running command was asked to work for; None where --machine was left out."""
    return click.get_current_context().meta.get(_ASKED)


def use_machine_of(name: str, what: str) -> None:
    """Work for the machine that a program names until the command ends; raises CompileError where another one was
    asked for."""
    from mnc.mncore_backend.target import named, use

    machine, asked = named(name), asked_machine()
    if asked is not None and asked is not machine:
        message = f"{what} is for the machine {machine.name}, and --machine says {asked.name}"
        raise CompileError(message, hint="leave --machine out, or compile the model for the other machine")
    click.get_current_context().with_resource(use(machine))


def use_machine_of_file(path: Path) -> None:
    """The same for the program of a build directory that is read as an assembly file; other files name no machine.
    Raises CompileError."""
    from mnc.build_directory import machine_of_directory
    from mnc.core.files import PROGRAM

    if path.name == PROGRAM and (name := machine_of_directory(path.parent)) is not None:
        use_machine_of(name, str(path))
