"""Ctrl-C in commands that have no subcommands."""

from typing import Any

import click

from mnc.core.command_line import leave_interrupted


class Interruptible(click.Command):
    """A command that ends with 130 after Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            leave_interrupted(interruption)
