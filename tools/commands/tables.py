"""Tables of comparisons: numbers stay whole, names are folded where the terminal is narrow."""

import math
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mnc.core.diagnostics import one_line

NUMBERS = ("shape", "error", "bound", "min", "max", "mean", "")
_WIDTH_WITHOUT_TERMINAL = 160
_LONGEST_NAME = 120


def comparison_table(*names: str, numbers: tuple[str, ...] = NUMBERS) -> Table:
    """A table with text columns `names`, followed by columns of numbers."""
    table = Table()
    for name in names:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, no_wrap=True)
    return table


def name_cell(name: str) -> Text:
    """A name of a model as it is: brackets in it are no markup, and of a long one the middle is left out."""
    return Text(one_line(name, _LONGEST_NAME), overflow="fold")


def comparison_cells(row: Any) -> list[str]:
    """The columns `NUMBERS` of a `Comparison`; a tensor without elements has no least one."""
    shape = "x".join(map(str, row.shape)) or "scalar"
    statistics = [f"{value:.3g}" for value in (row.minimum, row.maximum, row.mean)]
    if not math.prod(row.shape):
        statistics = ["-"] * len(statistics)
    return [shape, f"{row.error:.3g}", f"{row.bound:.3g}", *statistics, "pass" if row.passed else "[red]FAIL"]


def undecided_line(name: str, row: Any) -> str:
    """What a `Comparison` says of elements that may be any: how many there are, and how many of them differ."""
    are = "element is" if math.prod(row.shape) == 1 else "elements are" if row.undecided != 1 else "elements is"
    differ = {0: "none of them differs", 1: "one of them differs"}.get(
        row.undecided_that_differ, f"{row.undecided_that_differ} of them differ"
    )
    return f"{name}: {row.undecided} of {math.prod(row.shape)} {are} undecided within the error bounds, {differ}"


def print_table(table: Table) -> None:
    """Print for a terminal, or wide for a pipe or a file."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL)
    console.print(table)
