"""mnc machine: the table of hardware numbers."""

import sys

import click

from mnc.mncore_backend.target.drawing import hierarchy_svg
from mnc.mncore_backend.target.report import SECTIONS, sections, to_json, to_markdown, to_text
from mnc.tools.commands.machine_option import machine_option

_FORMATS = {"text": to_text, "markdown": to_markdown, "json": to_json}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(SECTIONS)), metavar="[SECTION...]")
@click.option("--format", "output_format", type=click.Choice([*_FORMATS, "svg"]), default="text", show_default=True,
              help="svg: a drawing of the hierarchy.")  # fmt: skip
@machine_option
def command(names: tuple[str, ...], output_format: str) -> None:
    """Print the numbers of the hardware, each with its source, and the assumptions where no document decides.

    Sections: hierarchy, memories, l1bm, l2bm, mv, hazards, peaks, assumptions."""
    sys.stdout.write(hierarchy_svg() if output_format == "svg" else _FORMATS[output_format](sections(names)))
