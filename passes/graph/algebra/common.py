"""What the algebraic patterns share."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern
from mnc.dialects import graph
from mnc.passes.graph.matching import broadcast_to, element_of, is_float, shape_of

SIGN_OF_ZERO = "the sign of a zero would change, and a later division by it shows that"


class RootedPattern(Pattern):
    """A pattern for one of several operations, named without ``graph.``."""

    def __init__(self, root: str) -> None:
        self.root = f"graph.{root}"  # pyright: ignore[reportAttributeAccessIssue]


def result_of(op: Any) -> ir.Value:
    """The first result."""
    return op.operation.results[0]


def operands_of(op: Any) -> list[ir.Value]:
    """All operands."""
    return list(op.operation.operands)


def replace(op: Any, value: ir.Value, rewriter: Any) -> None:
    """Replace the only result of `op`, broadcasting `value` to its shape."""
    rewriter.replace_op(op, [broadcast_to(value, shape_of(result_of(op)))])


def build(kind: str, /, *operands: ir.Value, **attributes: Any) -> ir.Value:
    """One operation by its name without ``graph.``."""
    return graph.OPERATIONS[f"graph.{kind}"].build(*operands, **attributes).operation.results[0]


def representable(array: np.ndarray, value: ir.Value) -> bool:
    """Whether every number (computed in double precision) is finite and not subnormal in the element type.

    Integers always are: they wrap as the operations themselves do.
    """
    if not is_float(value):
        return True
    smallest, largest = {
        "f16": (6.104e-05, 65504.0),
        "bf16": (1.1754943508222875e-38, 3.3895313892515355e38),
        "f32": (1.1754943508222875e-38, 3.4028234663852886e38),
        "f64": (2.2250738585072014e-308, math.inf),
    }[str(element_of(value))]
    size = np.abs(array)
    return bool(np.all(np.isfinite(size) & ((size == 0) | (size >= smallest)) & (size <= largest)))


def wide(array: np.ndarray) -> np.ndarray:
    """Floats in double precision, integers as they are."""
    return array.astype(np.float64) if array.dtype.kind in "fV" else array
