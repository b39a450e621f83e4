"""mnc check: compile, run, compare with the ONNX reference."""

import sys

import click
from rich.console import Console
from rich.table import Table

from mnc.tools.commands.shared import model_options, parse_shapes, read_arrays


@click.command()
@click.argument("model", type=click.Path())
@click.option("--input", "inputs", multiple=True, metavar="[NAME=]FILE.npy", help="Value of an input; else random.")
@click.option("--seed", default=0, show_default=True, help="Seed of random inputs.")
@click.option("--intermediates", is_flag=True, help="Compare every float intermediate, too.")
@model_options
def command(
    model: str, inputs: tuple[str, ...], seed: int, intermediates: bool, precision: str, shapes: tuple[str, ...]
) -> None:
    """Compile MODEL, run it on the emulator and compare every output with the ONNX reference."""
    from mnc.compiler import compile
    from mnc.options import Options
    from mnc.reference import compare, load_proto, random_inputs, with_intermediates
    from mnc.report import statistics_line

    options = Options(precision, parse_shapes(shapes))  # pyright: ignore[reportArgumentType]
    executable = compile(model, options)  # first, because it explains what is wrong with a model
    proto = load_proto(model)
    if intermediates:
        proto = with_intermediates(proto)
        executable = compile(proto, options)
    values = random_inputs(proto, options.shapes, seed)
    values.update(read_arrays(inputs, [tensor.name for tensor in executable.inputs]))
    result = executable.run_with_statistics(values)
    rows = compare(proto, result.outputs, values, options.precision)
    table = Table("tensor", "shape", "error", "bound", "min", "max", "mean", "")
    for row in rows:
        numbers = (row.error, row.bound, row.minimum, row.maximum, row.mean)
        shape = "x".join(map(str, row.shape))
        table.add_row(row.name, shape, *(f"{n:.3g}" for n in numbers), "pass" if row.passed else "[red]FAIL")
    Console().print(table)
    click.echo(statistics_line(result.statistics))
    if not all(row.passed for row in rows):
        sys.exit(1)
