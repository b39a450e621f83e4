"""mnc unit-tests: a folder with a test for every distinct node of a model."""

import shlex
from pathlib import Path

import click

from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import SHAPE_HELP, parse_shapes, read_arrays


@click.command()
@click.argument("model", type=GivenPath(str))
@click.option("-o", "--output", type=GivenPath(), required=True, help="Directory for the folders.")
@click.option("--cumulative", is_flag=True, help="Test the part of the model up to each node, not the nodes alone.")
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="Value of an input; else random.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random inputs.")
@click.option("--shape", "shapes", multiple=True, metavar="NAME=N,N,...", help=SHAPE_HELP)
def command(
    model: str, output: Path, cumulative: bool, inputs: tuple[str, ...], seed: int, shapes: tuple[str, ...]
) -> None:
    """Cut MODEL (an ONNX file) into unit tests; `mnc check DIR/*` runs them.

    The whole model runs on the ONNX reference; each test gets the values that its node saw and made. Nodes with equal
    operator, attributes, shapes and types share a test. The folders have the layout of ONNX backend tests.
    """
    from mnc.model_values import evaluate_model, input_names
    from mnc.options import Options
    from mnc.unit_tests import write_unit_tests

    given = read_arrays(inputs, input_names(model) if inputs else [])
    run = evaluate_model(model, Options(shapes=parse_shapes(shapes)), given, seed)
    folders = write_unit_tests(run, output, cumulative)
    for folder in folders:
        click.echo(folder)
    tests, nodes = len(folders), len(run.model.graph.node)
    counted = f"{tests} {'test' if tests == 1 else 'tests'} from {nodes} {'node' if nodes == 1 else 'nodes'}"
    click.echo(f"{counted}; run them with: mnc check {shlex.quote(str(output))}/*")
