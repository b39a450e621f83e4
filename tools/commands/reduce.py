"""mnc reduce: the smallest model that still shows a fault."""

from pathlib import Path
from typing import Any

import click

from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import model_options, parse_shapes


@click.command()
@click.argument("model", type=GivenPath(str))
@click.option("--when", required=True, metavar='wrong|crash|refused|"cycles>N"', help="What it must still show.")
@click.option("-o", "--output", type=GivenPath(), default=Path("build/reduced"), show_default=True,
              help="Folder for the model and what belongs to it; an older one is replaced.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0), default=600.0, show_default=True,
              help="Stop after this time with the smallest model so far.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random inputs.")
@model_options
def command(
    model: str, when: str, output: Path, seconds: float, seed: int, precision: Any, shapes: tuple[str, ...]
) -> None:
    """Shrink MODEL (an ONNX file) to the fewest nodes and smallest shapes that still show what --when names.

    Writes a folder with the model, inputs, expected outputs, the IR of every stage, the assembly, and the one command
    that shows it again.
    """
    from mnc.lowering.onnx_to_graph.onnx_file import load_model
    from mnc.options import Options
    from mnc.reduction.conditions import parse_condition
    from mnc.reduction.folder import check_replaceable, write_reduced
    from mnc.reduction.reduce import reduce_model

    options = Options(precision)
    condition = parse_condition(when, options, seed)
    check_replaceable(output)
    whole = load_model(model, parse_shapes(shapes)).complete()
    reduced = reduce_model(whole, condition, seconds)
    folder, again = write_reduced(reduced, when, output, options, seed)
    operators = ", ".join(dict.fromkeys(node.op_type for node in reduced.model.graph.node))
    before, after = len(whole.graph.node), len(reduced.model.graph.node)
    click.echo(f"{before} nodes -> {after} ({operators}) in {reduced.tries} tries: {reduced.seen.message}")
    if not reduced.complete:
        click.echo(f"stopped after {seconds:g} seconds; --seconds gives it more")
    click.echo(f"{folder}: shown again by {again}")
