"""Short ways to write down a decomposition."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Refusal
from mnc.dialects import graph
from mnc.passes.graph.matching import constant, element_of, shape_of

Handler = Callable[[Any], "list[ir.Value] | Refusal | None"]
Number = float | int


def value(kind: str, /, *operands: ir.Value | Number, **attributes: Any) -> ir.Value:
    """One operation by its name without ``graph.``; numbers become scalars of the first operand's element type."""
    first = next(operand for operand in operands if isinstance(operand, ir.Value))
    values = [operand if isinstance(operand, ir.Value) else constant(operand, like=first) for operand in operands]
    return graph.OPERATIONS[f"graph.{kind}"].build(*values, **attributes).operation.results[0]


def reduced(kind: str, operand: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Reduction that keeps its dimensions."""
    return value("reduce", operand, kind=kind, axes=list(axes), keepdims=True)


def zeros_around(operand: ir.Value, low: Sequence[int], high: Sequence[int]) -> ir.Value:
    """Zeros on both sides of every dimension, which negative numbers cut instead."""
    shape = shape_of(operand)
    starts = [max(-n, 0) for n in low]
    limits = [extent - max(-n, 0) for extent, n in zip(shape, high, strict=True)]
    if any(starts) or limits != list(shape):
        operand = value("slice", operand, starts=starts, limits=limits, steps=[1] * len(shape))
    before, after = [max(n, 0) for n in low], [max(n, 0) for n in high]
    if not any(before) and not any(after):
        return operand
    return value("pad", operand, low=before, high=after, value=0.0, mode="constant")


def largest_finite(operand: ir.Value) -> float:
    """Largest finite number of the element type that a single can hold."""
    name = str(element_of(operand))
    return {"f16": 65504.0, "bf16": 3.3895313892515355e38}.get(name, float(np.finfo(np.float32).max))


def real(op: Any, name: str) -> float:
    """Float attribute."""
    return ir.FloatAttr(op.operation.attributes[name]).value


def flag(op: Any, name: str) -> bool:
    """Boolean attribute."""
    return ir.BoolAttr(op.operation.attributes[name]).value


def integer(op: Any, name: str) -> int:
    """Integer attribute."""
    return ir.IntegerAttr(op.operation.attributes[name]).value
