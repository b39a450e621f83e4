"""mnc supports: what of a model the compiler would refuse, all of it at once."""

import sys
from typing import Any

import click

from mnc.core.diagnostics import CompileError
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import SHAPE_HELP, parse_shapes


@click.command()
@click.argument("model", type=GivenPath(str))
@click.option("--shape", "shapes", multiple=True, metavar="NAME=N,N,...", help=SHAPE_HELP)
def command(model: str, shapes: tuple[str, ...]) -> None:
    """List everything in MODEL (an ONNX file) that would be refused, with the nearest form that works.

    Nothing is compiled: whether tensors fit the memories shows when it is. Exit code 0: nothing is refused; 1: some is.
    """
    from mnc.core.context import make_context
    from mnc.lowering.onnx_to_graph.onnx_file import read_proto
    from mnc.lowering.onnx_to_graph.refusals import find_refusals

    read_proto(model)  # what is no model at all is no matter of support
    found = find_refusals(model, make_context(), parse_shapes(shapes))
    if found.module is not None:
        found.refused += _later_refusals(found.module)
    for error in found.refused:
        click.echo(error.render())
    if found.unjudged:
        click.echo(f"not judged, because they read what is refused: {', '.join(found.unjudged)}")
    if found.only_operators:
        click.echo("only operators were judged: all else hangs on the open extents")
    refused = len(found.refused)
    click.echo(f"{model}: {found.nodes} nodes, {refused or 'nothing'} refused")
    if found.refused:
        sys.exit(1)


def _later_refusals(module: Any) -> list[Any]:
    """What the stages without hardware refuse, and constants that no word holds; of these only the first is known."""
    from mnc.lowering.linalg_to_spmd.words import check_words
    from mnc.options import Options
    from mnc.stages import stage_pipeline

    try:
        for stage in ("graph", "linalg"):
            stage_pipeline(stage, Options()).run(module)
        with module.context:
            for function in module.body.operations:
                check_words(function.operation)
    except CompileError as error:
        return [error]
    return []
