"""mnc check: compile, run, compare with the ONNX reference; a model, or folders of unit tests."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mnc.core.diagnostics import CompileError
from mnc.tools.commands.shared import model_options, parse_shapes, read_arrays
from mnc.tools.commands.tables import NUMBERS, comparison_cells, comparison_table, print_table


@click.command()
@click.argument("models", type=click.Path(), nargs=-1, required=True, metavar="MODEL | FOLDER...")
@click.option("--target", type=click.Choice(["mncore", "cpp"]), default="mncore", show_default=True,
              help="Assembly on the emulator, or C++17 through the compiler of this computer.")  # fmt: skip
@click.option("--input", "inputs", multiple=True, metavar="[NAME=]FILE.npy", help="Value of an input; else random.")
@click.option("--seed", default=0, show_default=True, help="Seed of random inputs.")
@click.option("--intermediates", is_flag=True, help="Compare every float intermediate, too.")
@model_options
def command(models: tuple[str, ...], inputs: tuple[str, ...], intermediates: bool, **options: Any) -> None:
    """Compile, run and compare every output with the ONNX reference.

    A MODEL (an ONNX file) runs on random or given inputs. A FOLDER of a unit test, in the layout of ONNX backend tests,
    brings inputs and expected outputs; several may be given, or a directory that holds them.
    """
    folders = [Path(model) for model in models if Path(model).is_dir()]
    if not folders and len(models) == 1:
        passed = _check_model(models[0], inputs, intermediates, **options)
    elif len(folders) == len(models):
        if inputs or intermediates:
            raise CompileError("unit tests bring their inputs", hint="--input and --intermediates belong to a model")
        passed = _check_folders(folders, **options)
    else:
        other = next(model for model in models if not Path(model).is_dir())
        message = f"'{other}' is no folder of a unit test" if folders else f"{len(models)} models were given"
        raise CompileError(message, hint="give one model, or folders of unit tests")
    if not passed:
        sys.exit(1)


def _check_model(
    model: str, inputs: tuple[str, ...], intermediates: bool, *, target: str, seed: int, precision: Any,
    shapes: tuple[str, ...],
) -> bool:  # fmt: skip
    from mnc.lowering.onnx_to_graph.dynamic_shapes import bind_shapes
    from mnc.options import Options
    from mnc.reference import compare, load_proto, random_inputs, with_intermediates
    from mnc.targets import prepare

    options = Options(precision, parse_shapes(shapes))
    prepared = prepare(model, options, target)  # first, because it explains what is wrong with a model
    proto = load_proto(model)
    bind_shapes(proto.graph, options.shapes, (), model)
    if intermediates:
        proto = with_intermediates(proto)
        prepared = prepare(proto, Options(precision), target)  # its shapes are bound
    values = random_inputs(proto, options.shapes, seed, read_arrays(inputs, list(prepared.inputs)))
    outputs, summary = prepared.run(values)
    rows = compare(proto, outputs, values, prepared.precision)
    table = comparison_table("tensor")
    for row in rows:
        table.add_row(row.name, *comparison_cells(row))
    print_table(table)
    click.echo(summary)
    for row in rows:
        if row.undefined and not row.passed:
            found = f"{row.undefined} elements of '{row.name}' are NaN on the reference, and the machine has no NaN"
            click.echo(f"{found}: give inputs for which the model is defined with --input")
    return all(row.passed for row in rows)


def _check_folders(folders: list[Path], *, target: str, seed: int, precision: Any, shapes: tuple[str, ...]) -> bool:
    from rich.progress import track

    from mnc.case_check import check_case
    from mnc.case_folders import find_case_folders, read_cases
    from mnc.options import Options
    from mnc.targets import check_available

    check_available(target)
    options = Options(precision, parse_shapes(shapes))
    found = [inner for folder in folders for inner in find_case_folders(folder)]
    cases = [case for folder in found for case in read_cases(folder)]
    console = Console(stderr=True)
    results = [check_case(case, options, target) for case in track(cases, "checking", console=console, transient=True)]
    table = comparison_table("test", "variable")
    for result in results:
        for row in result.comparisons:
            table.add_row(result.name, row.name, *comparison_cells(row))
        if result.failure:
            table.add_row(result.name, *[""] * len(NUMBERS), "[red]FAIL")
    print_table(table)
    for result in results:
        if result.failure:
            click.echo(f"{result.name}: {result.failure}")
    failed = sum(not result.passed for result in results)
    click.echo(f"{len(results) - failed} of {len(results)} tests passed")
    return not failed
