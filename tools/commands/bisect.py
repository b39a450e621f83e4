"""mnc bisect: the first node of a model that goes wrong."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mnc.tools.commands.shared import model_options, parse_shapes, read_arrays
from mnc.tools.commands.tables import comparison_table, print_table


@click.command()
@click.argument("model", type=click.Path())
@click.option("--target", type=click.Choice(["mncore", "cpp"]), default="mncore", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("build/bisect"), show_default=True,
              help="Directory for the unit test that reproduces the error.")  # fmt: skip
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="Value of an input; else random.")
@click.option("--seed", default=0, show_default=True, help="Seed of random inputs.")
@model_options
def command(
    model: str, target: str, output: Path, inputs: tuple[str, ...], seed: int, precision: Any, shapes: tuple[str, ...]
) -> None:
    """Find the first node of MODEL whose result leaves its bound.

    Every node is judged alone, fed what the reference computed, and accumulated, fed what the target computed before.
    Exit code 0: all are within their bounds; 1: one is not.
    """
    from mnc.bisection import bisect
    from mnc.model_values import evaluate_model, input_names
    from mnc.options import Options
    from mnc.targets import check_available

    options = Options(precision, parse_shapes(shapes))
    check_available(target)
    run = evaluate_model(model, options, read_arrays(inputs, input_names(model) if inputs else []), seed)
    with Console(stderr=True).status("") as status:
        found = bisect(run, options, target, lambda text: status.update(f"checking {text}"))
    numbers = ("alone", "bound", "accumulated", "bound", "")
    table = comparison_table("node", "operator", numbers=numbers)
    for verdict in found.verdicts:
        cells = [*_cells(verdict.alone), *_cells(verdict.accumulated)]
        table.add_row(_name(verdict), verdict.node.op_type, *cells, "pass" if verdict.passed else "[red]FAIL")
    print_table(table)
    if found.culprit is None:
        _print_clean(found, run)
        return
    _print_culprit(found.culprit, output, target, precision)
    sys.exit(1)


def _name(verdict: Any) -> str:
    """Of a node without a name: what messages of the compiler call it."""
    return verdict.node.name or f"{verdict.node.op_type}_{verdict.index}"


def _cells(result: Any) -> list[str]:
    worst = result.worst if result is not None else None
    if worst is None:
        return ["failed" if result is not None and result.failure else "", ""]
    return [f"{worst.error:.3g}", f"{worst.bound:.3g}"]


def _print_clean(found: Any, run: Any) -> None:
    if found.whole.passed:
        click.echo("every node and every output is within its bound")
        return
    # No part of the model reproduces it, so there is no folder to point to.
    click.echo(f"the outputs of the model are wrong, though no part of it is: {found.whole.failure or 'see mnc check'}")
    sys.exit(1)


def _print_culprit(culprit: Any, output: Path, target: str, precision: str) -> None:
    from mnc.case_folders import write_case

    how = "fed what was computed before; alone it is fine"
    if culprit.is_wrong_alone:
        how = "fed the values of the reference"
    what = f"'{_name(culprit)}' ({culprit.node.op_type}), node {culprit.index}"
    result = culprit.failed
    if result.failure:
        click.echo(f"the first node that fails is {what}, {how}: {result.failure}")
    else:
        row = result.worst
        click.echo(f"the first node out of its bound is {what}, {how}:")
        click.echo(f"  '{row.name}' is off by {row.error:.3g}, the bound is {row.bound:.3g}")
    folder = write_case(output, culprit.case)
    choices = " --target cpp" if target == "cpp" else f" --precision {precision}"
    click.echo(f"reproduce it with: mnc check {folder}{choices}")
