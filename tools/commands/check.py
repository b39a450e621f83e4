"""mnc check: compile, run, compare with the ONNX reference; a model, or folders of unit tests."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mnc.core import events
from mnc.core.diagnostics import CompileError
from mnc.input_checks import are_nan, subnormal_note
from mnc.options import Options, default_effort
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import (
    effort_option,
    model_options,
    parse_shapes,
    parse_updates,
    read_arrays,
    refuse_resident,
    resident_option,
    update_option,
)
from mnc.tools.commands.tables import (
    NUMBERS,
    comparison_cells,
    comparison_table,
    name_cell,
    print_table,
    undecided_line,
)
from mnc.tools.json_output import comparison, format_option, print_json


@click.command()
@click.argument("models", type=GivenPath(str), nargs=-1, required=True, metavar="MODEL | FOLDER...")
@click.option("--target", type=click.Choice(["mncore", "cpp"]), default="mncore", show_default=True,
              help="Assembly on the emulator, or C++17 through the compiler of this computer.")  # fmt: skip
@click.option("--input", "inputs", multiple=True, metavar="[NAME=]FILE.npy", help="Value of an input; else random.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random inputs.")
@click.option("--per-node", is_flag=True,
              help="Judge each node twice: alone, with inputs from the reference, and in its place.")  # fmt: skip
@click.option("--intermediates", is_flag=True, help="Compare every float intermediate, too.")
@resident_option
@update_option
@effort_option
@format_option()
@model_options
def command(
    models: tuple[str, ...], inputs: tuple[str, ...], intermediates: bool, per_node: bool, output_format: str,
    resident: Any, updates: tuple[str, ...], effort: Any, precision: Any, shapes: tuple[str, ...], **given: Any,
) -> None:
    """Compile, run and compare every output with the ONNX reference.

    A MODEL (an ONNX file) runs on random or given inputs. A FOLDER of a unit test, in the layout of ONNX backend tests,
    brings inputs and expected outputs; several may be given, or a directory that holds them.
    """
    refuse_resident(resident, given["target"], updates)
    own, spent = parse_updates(updates), effort or default_effort()
    options = Options(precision, parse_shapes(shapes), resident=resident, updates=own, effort=spent)
    folders = [Path(model) for model in models if Path(model).is_dir()]
    if not folders and len(models) == 1 and per_node:
        if intermediates:
            raise CompileError("--per-node compares every intermediate already", hint="leave --intermediates out")
        passed = _check_per_node(models[0], inputs, output_format, options, **given)
    elif not folders and len(models) == 1:
        passed = _check_model(models[0], inputs, intermediates, output_format, options, **given)
    elif len(folders) == len(models):
        if inputs or intermediates or per_node:
            hint = "--input, --intermediates and --per-node belong to a model"
            raise CompileError("unit tests bring their inputs", hint=hint)
        passed = _check_folders(folders, output_format, options, given["target"])
    else:
        other = next(model for model in models if not Path(model).is_dir())
        message = f"'{other}' is no folder of a unit test" if folders else f"{len(models)} models were given"
        raise CompileError(message, hint="give one model, or folders of unit tests")
    if not passed:
        sys.exit(1)


def _check_per_node(
    model: str, inputs: tuple[str, ...], output_format: str, options: Options, *, target: str, seed: int
) -> bool:
    from mnc.tools.commands.node_table import check_per_node

    return check_per_node(model, inputs, output_format, target, seed, options)


def _check_model(
    model: str, inputs: tuple[str, ...], intermediates: bool, output_format: str, options: Options, *, target: str,
    seed: int,
) -> bool:  # fmt: skip
    import onnx

    from mnc.lowering.onnx_to_graph.dynamic_shapes import bind_shapes
    from mnc.reference import judge, load_proto, random_inputs, with_intermediates
    from mnc.targets import prepare

    prepared = prepare(model, options, target)  # first, because it explains what is wrong with a model
    proto = load_proto(model)
    bind_shapes(proto.graph, options.shapes, (), model)
    if intermediates:
        proto = with_intermediates(proto)
        prepared = prepare(proto, replace(options, shapes={}), target)  # its shapes are bound
    values = random_inputs(proto, options.shapes, seed, read_arrays(inputs, list(prepared.inputs)))
    outputs, summary = prepared.run(values)
    with events.span("stage", "reference"):
        name, rows = judge(proto, outputs, values, prepared.precision)
    if output_format == "json":
        passed = all(row.passed for row in rows)
        tensors = [comparison(row) for row in rows]
        print_json({"model": model, "passed": passed, "summary": summary, "judged_by": name, "tensors": tensors})
        return passed
    table = comparison_table("tensor")
    for row in rows:
        table.add_row(name_cell(row.name), *comparison_cells(row))
    print_table(table)
    click.echo(summary)
    click.echo(f"judged by {name}")
    for row in rows:
        if row.undecided:
            click.echo(undecided_line(f"'{row.name}'", row))
        if row.undefined and not row.passed:
            found = are_nan(row.undefined, f"'{row.name}'") + " on the reference, and the machine has no NaN"
            click.echo(f"{found}: give inputs for which the model is defined with --input")
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    for note in filter(None, (subnormal_note(*entry) for entry in {**weights, **values}.items())):
        click.echo(note)
    return all(row.passed for row in rows)


def _check_folders(folders: list[Path], output_format: str, options: Options, target: str) -> bool:
    from mnc.case_check import check_case
    from mnc.case_folders import find_case_folders, read_cases
    from mnc.targets import check_available

    check_available(target)
    found = [inner for folder in folders for inner in find_case_folders(folder)]
    cases = [case for folder in found for case in read_cases(folder)]
    results = []
    for number, case in enumerate(cases, 1):
        with events.span("case", f"{case.name}, {number} of {len(cases)}"):
            results.append(check_case(case, options, target))
    if output_format == "json":
        print_json({"passed": all(result.passed for result in results), "tests": [_case(result) for result in results]})
        return all(result.passed for result in results)
    table = comparison_table("test", "variable")
    for result in results:
        for row in result.comparisons:
            table.add_row(name_cell(result.name), name_cell(row.name), *comparison_cells(row))
        if result.failure:
            table.add_row(name_cell(result.name), *[""] * len(NUMBERS), "[red]FAIL")
    print_table(table)
    for result in results:
        for row in result.comparisons:
            if row.undecided:
                click.echo(undecided_line(f"{result.name}, '{row.name}'", row))
        if result.failure:
            click.echo(f"{result.name}: {result.failure}")
    failed = sum(not result.passed for result in results)
    click.echo(f"{len(results) - failed} of {len(results)} tests passed")
    return not failed


def _case(result: Any) -> dict[str, Any]:
    rows = [comparison(row) for row in result.comparisons]
    return {"name": result.name, "passed": result.passed, "failure": result.failure or None, "tensors": rows}
