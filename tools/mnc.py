"""mnc: the user's command. Subcommands live in tools/commands and are imported when they are called."""

import importlib
import sys
from typing import Any

import click

from mnc.core.command_line import errors_to_exit_codes
from mnc.core.diagnostics import InternalError

COMMANDS = {
    "asm": ("asm", "Check and format assembly files."),
    "bisect": ("bisect", "Find the first node of a model whose result leaves its bound."),
    "check": ("check", "Compile a model or unit tests, run them and compare with the ONNX reference."),
    "compile": ("compile", "Compile an ONNX model to assembly or C++."),
    "demo": ("demo", "Train a digits classifier, compile it and compare emulator and reference."),
    "judge": ("judge", "Run an answer against a testcase of debug statements."),
    "machine": ("machine", "Print the table of hardware numbers."),
    "train": ("train", "Train a classifier with compiled steps, on the emulator or the CPU."),
    "unit-tests": ("unit_tests", "Cut a model into unit tests, one for every distinct node."),
    "run": ("run", "Run a compiled model or an assembly file on the emulator."),
}
"""Name -> module in tools/commands and one line of help."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class LazyGroup(click.Group):
    """Looks commands up in `COMMANDS`; listing them imports nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in alphabetical order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command object of a name, or None."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"mnc.tools.commands.{COMMANDS[cmd_name][0]}").command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command. Click would end with 1, which here says that a check failed."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            click.echo(str(interruption) or "interrupted", err=True)
            sys.exit(INTERRUPTED)
        except EOFError as error:
            raise InternalError(f"EOFError: {error}") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help text."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mnc")
def cli() -> None:
    """ONNX models to MN-Core 2 assembly, proven on an emulator."""


def main() -> None:
    """Entry point: errors become one message and an exit code."""
    with errors_to_exit_codes():
        cli()


if __name__ == "__main__":
    main()
