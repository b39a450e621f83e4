"""Paths on the command line."""

from pathlib import Path
from typing import Any

import click


class GivenPath(click.Path):
    """A path that is one: an empty text, as an unset variable of a shell leaves, would be the current directory."""

    def __init__(self, kind: type = Path) -> None:
        super().__init__(path_type=kind)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; ends the command with a message about its usage where there is none."""
        if value == "":
            self.fail("it is empty; name a place, such as . for the current directory", param, ctx)
        return super().convert(value, param, ctx)
