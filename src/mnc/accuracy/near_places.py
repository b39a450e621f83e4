"""Evaluation of an operation with operands that are not quite right: places that rounding moves stay in their table."""

from typing import Any

import numpy as np

from mnc.accuracy.error_rules import kind_of
from mnc.passes.graph.evaluate import evaluate_operation, python_attributes

Array = np.ndarray


def evaluate_near(op: Any, operands: list[Array]) -> list[Array]:
    """As `evaluate_operation`, in double precision. A place outside of what is read, which rounding has moved there, is
    the nearest inside."""
    if kind_of(op) in ("gather", "batch_gather"):
        table, places = operands
        extent = table.shape[python_attributes(op)["axis"]]
        operands = [table, np.clip(places, -extent, extent - 1)]
    return evaluate_operation(op, operands, wide=True)
