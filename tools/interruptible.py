"""Ctrl-C in commands that have no subcommands."""

import sys
from typing import Any

import click

from mnc.core.command_line import INTERRUPTED


class Interruptible(click.Command):
    """A command that ends with 130 after Ctrl-C. Click would end with 1, which here says that a check failed."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            click.echo(str(interruption) or "interrupted", err=True)
            sys.exit(INTERRUPTED)
