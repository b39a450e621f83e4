"""The table of nodes judged alone and accumulated, for `mnc bisect` and `mnc check --per-node`."""

from collections.abc import Sequence
from typing import Any

import click

from mnc.tools.commands.shared import read_arrays
from mnc.tools.commands.tables import comparison_table, name_cell, print_table
from mnc.tools.json_output import comparison, print_json


def node_name(verdict: Any) -> str:
    """Of a node without a name: what messages of the compiler call it."""
    return verdict.node.name or f"{verdict.node.op_type}_{verdict.index}"


def print_verdicts(verdicts: Sequence[Any]) -> None:
    """One row a node: error and bound alone, and accumulated."""
    table = comparison_table("node", "operator", numbers=("alone", "bound", "accumulated", "bound", ""))
    for verdict in verdicts:
        cells = [*_cells(verdict.alone), *_cells(verdict.accumulated)]
        names = name_cell(node_name(verdict)), name_cell(verdict.node.op_type)
        table.add_row(*names, *cells, "pass" if verdict.passed else "[red]FAIL")
    print_table(table)


def _cells(result: Any) -> list[str]:
    worst = result.worst if result is not None else None
    if worst is None:
        return ["failed" if result is not None and result.failure else "", ""]
    return [f"{worst.error:.3g}", f"{worst.bound:.3g}"]


def node_json(verdict: Any) -> dict[str, Any]:
    """A verdict as plain values."""
    ways = {"alone": verdict.alone, "accumulated": verdict.accumulated}
    judged = {
        way: None if result is None else {
            "passed": result.passed, "failure": result.failure or None,
            "tensors": [comparison(row) for row in result.comparisons],
        }
        for way, result in ways.items()
    }  # fmt: skip
    return {"name": node_name(verdict), "operator": verdict.node.op_type, "index": verdict.index,
            "passed": verdict.passed, **judged}  # fmt: skip


def check_per_node(
    model: str, inputs: tuple[str, ...], output_format: str, target: str, seed: int, options: Any
) -> bool:
    """Judge every node of a model and print the table; whether all are within their bounds."""
    from mnc.bisection import judge_nodes
    from mnc.model_values import evaluate_model, input_names
    from mnc.targets import check_available

    check_available(target)
    run = evaluate_model(model, options, read_arrays(inputs, input_names(model) if inputs else []), seed)
    verdicts = judge_nodes(run, options, target)
    passed = all(verdict.passed for verdict in verdicts)
    if output_format == "json":
        print_json({"passed": passed, "nodes": [node_json(verdict) for verdict in verdicts]})
        return passed
    print_verdicts(verdicts)
    for verdict in verdicts:
        if verdict.failed is not None and verdict.failed.failure:
            click.echo(f"{node_name(verdict)}: {verdict.failed.failure}")
    return passed
