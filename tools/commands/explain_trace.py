"""What `mnc explain` prints for a trace of decisions about layouts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError, one_line


def explain_trace(path: Path, node: str | None) -> None:
    """Print the decisions about a node, or about all in a table; raises CompileError."""
    from mnc.explanation import placement

    trace = placement.read_trace(path)
    try:
        if node is None:
            _print_all(trace)
            return
        for op in placement.operations_of(trace, node):
            _print_one(trace, op)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        message = f"{path} is damaged: {type(error).__name__}: {error}"
        raise CompileError(message, hint="write it again: mnc placement MODEL --trace FILE.json") from None


def _print_all(trace: dict[str, Any]) -> None:
    from mnc.explanation import placement

    rows = list(placement.overview(trace))
    lines = list(placement.searched(trace))
    _table(("node", "kind", "result"), ("adds", "candidates", "next best"), rows)
    click.echo("\n".join([f"price {trace['price']:,.0f} on {trace['machine']}", *lines]))


def _print_one(trace: dict[str, Any], op: dict[str, Any]) -> None:
    from mnc.explanation import placement

    for line in placement.title(trace, op):
        click.echo(one_line(line, len(line)))
    if rows := list(placement.costs(trace, op)):
        _table(("kind", "unit"), ("steps", "weight", "price"), rows)
    else:
        click.echo("  it adds nothing to the price")
    _table(("candidate", "steps by kind"), ("adds", "complete"), placement.candidates(op), "why")


def _table(texts: tuple[str, ...], numbers: tuple[str, ...], rows: Iterable[tuple[str, ...]], last: str = "") -> None:
    from rich.markup import escape
    from rich.table import Table

    from mnc.tools.commands.tables import print_table

    table = Table()
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    if last:
        table.add_column(last, overflow="fold")
    for row in rows:
        table.add_row(*(escape(one_line(text, len(text))) for text in row))
    print_table(table)
