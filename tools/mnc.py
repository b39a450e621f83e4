"""mnc: the user's command. Subcommands live in tools/commands and are imported when they are called."""

import importlib
import os
from typing import Any

import click

from mnc.core.command_line import errors_to_exit_codes, leave_interrupted
from mnc.core.diagnostics import InternalError

COMMANDS = {
    "asm": ("asm", "Check and format assembly files."),
    "bisect": ("bisect", "Find the first node of a model whose result leaves its bound."),
    "cache": ("cache", "Look at the cache of compiled programs, or clear it."),
    "check": ("check", "Compile a model or unit tests, run them and compare with the ONNX reference."),
    "completion": ("completion", "Print a script that completes commands and options in a shell."),
    "compile": ("compile", "Compile an ONNX model to assembly or C++."),
    "demo": ("demo", "Train a digits classifier, compile it and compare emulator and reference."),
    "doctor": ("doctor", "Print versions and optional parts, and try a small model."),
    "explain": ("explain", "Explain a compiled program: nodes, steps, tensors, layouts, fusion."),
    "explore": ("explore", "Open a model in Model Explorer with the costs of its nodes."),
    "judge": ("judge", "Run an answer against a testcase of debug statements."),
    "machine": ("machine", "Print the table of hardware numbers."),
    "placement": ("placement", "Decide where the tensors of a model live, and print what that takes."),
    "reduce": ("reduce", "Shrink a model to the least that still shows a fault."),
    "supports": ("supports", "List what of a model would be refused, before compiling it."),
    "train": ("train", "Train a classifier with compiled steps, on the emulator or the CPU."),
    "tune": ("tune", "Search for a shorter program of a model within a budget of time."),
    "unit-tests": ("unit_tests", "Cut a model into unit tests, one for every distinct node."),
    "run": ("run", "Run a compiled model or an assembly file on the emulator."),
}
"""Name -> module in tools/commands and one line of help."""

WITHOUT_LINEAR_ALGEBRA = ("asm", "cache", "judge", "machine", "run")
"""Commands that multiply no matrices in numpy."""

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
        from mnc.tools.feedback import with_feedback

        if cmd_name in WITHOUT_LINEAR_ALGEBRA:  # threads of numpy's library take as long to start as numpy itself
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        file, summary = COMMANDS[cmd_name]
        command = importlib.import_module(f"mnc.tools.commands.{file}").command
        command.short_help = summary  # shells show it beside the name
        return with_feedback(command, cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Propose the nearest command for a name that there is not."""
        name = str(args[0])
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, 3)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Read what stands in front of the command; options of commands stand behind it."""
        try:
            return super().make_context(*arguments, **settings)
        except click.NoSuchOption as error:
            message = f"{error.format_message()} Options of a command follow it: mnc COMMAND -v."
            raise click.UsageError(message, error.ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            leave_interrupted(interruption)
        except EOFError as error:
            raise InternalError(f"EOFError: {error}") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help text."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


_EPILOG = (
    "Exit codes: 0 done, 1 a check failed, 2 a mistake in what was given, 70 a mistake of ours, 130 interrupted."
    " Long commands take -v, -q and --log-json FILE; 'mnc completion bash' completes names in the shell."
)


@click.group(cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mnc")
def cli() -> None:
    """ONNX models to MN-Core 2 assembly, proven on an emulator."""


def main() -> None:
    """Entry point: errors become one message and an exit code."""
    with errors_to_exit_codes():
        cli(prog_name="mnc")


if __name__ == "__main__":
    main()
