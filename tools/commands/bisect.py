"""mnc bisect: the first node of a model that goes wrong."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from mnc.tools.commands.node_table import node_json, node_name, print_verdicts
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import model_options, parse_shapes, read_arrays
from mnc.tools.json_output import format_option, print_json


@click.command()
@click.argument("model", type=GivenPath(str))
@click.option("--target", type=click.Choice(["mncore", "cpp"]), default="mncore", show_default=True,
              help="Assembly on the emulator, or C++17 through the compiler of this computer.")  # fmt: skip
@click.option("-o", "--output", type=GivenPath(), default=Path("build/bisect"), show_default=True,
              help="Directory for the unit test that reproduces the error.")  # fmt: skip
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="Value of an input; else random.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random inputs.")
@format_option()
@model_options
def command(
    model: str, target: str, output: Path, inputs: tuple[str, ...], seed: int, output_format: str, precision: Any,
    shapes: tuple[str, ...],
) -> None:  # fmt: skip
    """Find the first node of MODEL whose result is wrong: farther from the reference than its bound.

    Every node is judged twice. Alone: it gets the inputs that the reference computed. Accumulated: it gets what the
    nodes before it computed on the target. Exit code 0: all are within their bounds; 1: one is not.
    """
    from mnc.bisection import bisect
    from mnc.model_values import evaluate_model, input_names
    from mnc.options import Options
    from mnc.targets import check_available

    options = Options(precision, parse_shapes(shapes))
    check_available(target)
    run = evaluate_model(model, options, read_arrays(inputs, input_names(model) if inputs else []), seed)
    found = bisect(run, options, target)
    if output_format == "json":
        _print_json(found, output, target, precision)
        return
    print_verdicts(found.verdicts)
    if found.culprit is None:
        _print_clean(found, run)
        return
    _print_culprit(found.culprit, output, target, precision)
    sys.exit(1)


def _print_json(found: Any, output: Path, target: str, precision: str) -> None:
    culprit = found.culprit
    folder = _write(culprit, output) if culprit is not None else None
    passed = culprit is None and found.whole.passed
    print_json({
        "passed": passed,
        "nodes": [node_json(verdict) for verdict in found.verdicts],
        "culprit": None if culprit is None else node_name(culprit),
        "reproduce": None if folder is None else _reproduction(folder, target, precision),
    })  # fmt: skip
    if not passed:
        sys.exit(1)


def _write(culprit: Any, output: Path) -> Path:
    from mnc.case_folders import write_case

    return Path(write_case(output, culprit.case))


def _reproduction(folder: Path, target: str, precision: str) -> str:
    choices = " --target cpp" if target == "cpp" else f" --precision {precision}"
    return f"mnc check {shlex.quote(str(folder))}{choices}"


def _print_clean(found: Any, run: Any) -> None:
    if found.whole.passed:
        click.echo("every node and every output is within its bound")
        return
    # No part of the model reproduces it, so there is no folder to point to.
    click.echo(f"the outputs of the model are wrong, though no part of it is: {found.whole.failure or 'see mnc check'}")
    sys.exit(1)


def _print_culprit(culprit: Any, output: Path, target: str, precision: str) -> None:
    how = "fed what was computed before; alone it is fine"
    if culprit.is_wrong_alone:
        how = "fed the values of the reference"
    what = f"'{node_name(culprit)}' ({culprit.node.op_type}), node {culprit.index}"
    result = culprit.failed
    if result.failure:
        click.echo(f"the first node that fails is {what}, {how}: {result.failure}")
    else:
        row = result.worst
        click.echo(f"the first node out of its bound is {what}, {how}:")
        click.echo(f"  '{row.name}' is off by {row.error:.3g}, the bound is {row.bound:.3g}")
    click.echo(f"reproduce it with: {_reproduction(_write(culprit, output), target, precision)}")
