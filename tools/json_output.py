"""``--format json``: one object on standard output."""

import json
import math
from typing import Any

import click


def format_option() -> Any:
    """--format text|json; the parameter is called ``output_format``."""
    return click.option(
        "--format", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="json: one object on standard output.",
    )  # fmt: skip


def print_json(value: dict[str, Any]) -> None:
    """Print plain values; JSON has no infinity and no NaN, they become null."""
    click.echo(json.dumps(_plain(value), indent=1))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def comparison(row: Any) -> dict[str, Any]:
    """A `mnc.reference.Comparison`."""
    return {
        "name": row.name, "shape": list(row.shape), "error": row.error, "bound": row.bound, "minimum": row.minimum,
        "maximum": row.maximum, "mean": row.mean, "undefined": row.undefined,
        "undecided": row.undecided, "undecided_that_differ": row.undecided_that_differ, "passed": row.passed,
    }  # fmt: skip
