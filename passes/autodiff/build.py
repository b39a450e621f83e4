"""Short spellings of graph operations, for the rules of differentiation and the optimizers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph

Value = Any
"""An MLIR tensor value."""


def shape_of(value: Value) -> list[int]:
    """Static shape."""
    return list(ir.RankedTensorType(value.type).shape)


def element_of(value: Value) -> Any:
    """Element type."""
    return ir.RankedTensorType(value.type).element_type


def constant(array: Any, like: Value) -> Value:
    """A constant converted to the element type of `like`."""
    return graph.Constant.build(value=np.asarray(array, graph.numpy_dtype(element_of(like)))).result


def zeros(like: Value) -> Value:
    """Zeros of the type of `like`."""
    return constant(np.zeros(shape_of(like)), like)


def add(a: Value, b: Value) -> Value:
    """a + b."""
    return graph.Add.build(a, b).result


def sub(a: Value, b: Value) -> Value:
    """a - b."""
    return graph.Sub.build(a, b).result


def mul(a: Value, b: Value) -> Value:
    """a * b."""
    return graph.Mul.build(a, b).result


def div(a: Value, b: Value) -> Value:
    """a / b."""
    return graph.Div.build(a, b).result


def neg(a: Value) -> Value:
    """-a."""
    return graph.Neg.build(a).result


def exp(a: Value) -> Value:
    """e**a."""
    return graph.Exp.build(a).result


def scale(a: Value, factor: float) -> Value:
    """a times a number; `a` itself for 1."""
    return a if factor == 1 else mul(a, constant(factor, a))


def shift(a: Value, summand: float) -> Value:
    """a plus a number."""
    return add(a, constant(summand, a))


def greater(a: Value, b: Value | float) -> Value:
    """a > b, element by element."""
    return graph.Greater.build(a, constant(b, a) if isinstance(b, int | float) else b).result


def where(condition: Value, a: Value, b: Value | float) -> Value:
    """a where the condition holds, else b."""
    return graph.Where.build(condition, a, constant(b, a) if isinstance(b, int | float) else b).result


def cast(value: Value, element: Any) -> Value:
    """Convert to an element type."""
    return graph.Cast.build(value, result_type=graph.tensor(shape_of(value), element)).result


def reshape(value: Value, shape: Sequence[int]) -> Value:
    """The same elements under another shape; the value itself when the shape does not change."""
    if shape_of(value) == list(shape):
        return value
    return graph.Reshape.build(value, result_type=graph.tensor(shape, element_of(value))).result


def broadcast_to(value: Value, shape: Sequence[int]) -> Value:
    """numpy.broadcast_to; the value itself when the shape does not change."""
    if shape_of(value) == list(shape):
        return value
    return graph.BroadcastTo.build(value, result_type=graph.tensor(shape, element_of(value))).result


def transpose(value: Value, permutation: Sequence[int]) -> Value:
    """Permute dimensions; the value itself for the identity."""
    if list(permutation) == list(range(len(permutation))):
        return value
    return graph.Transpose.build(value, permutation=list(permutation)).result


def swap_last(value: Value) -> Value:
    """Exchange the last two dimensions."""
    rank = len(shape_of(value))
    return transpose(value, [*range(rank - 2), rank - 1, rank - 2])


def reduce(value: Value, axes: Sequence[int], kind: str = "sum", keepdims: bool = True) -> Value:
    """Fold dimensions; the value itself when there are none."""
    if not axes:
        return value
    return graph.Reduce.build(value, kind=kind, axes=list(axes), keepdims=keepdims).result


def unbroadcast(value: Value, shape: Sequence[int]) -> Value:
    """Sum a gradient over the dimensions along which an operand of `shape` was repeated."""
    have = shape_of(value)
    if have == list(shape):
        return value
    added = len(have) - len(shape)
    repeated = [added + i for i, extent in enumerate(shape) if extent == 1 and have[added + i] != 1]
    return reshape(reduce(value, [*range(added), *repeated], keepdims=False), shape)


def slice_(value: Value, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int] | None = None) -> Value:
    """A slice; the value itself when it is the whole."""
    extents = shape_of(value)
    steps = [1] * len(extents) if steps is None else list(steps)
    if list(starts) == [0] * len(extents) and list(limits) == extents and steps == [1] * len(extents):
        return value
    return graph.Slice.build(value, starts=list(starts), limits=list(limits), steps=steps).result


def pad(value: Value, low: Sequence[int], high: Sequence[int], fill: float = 0.0) -> Value:
    """Surround with a constant; the value itself when nothing is added."""
    if not any((*low, *high)):
        return value
    return graph.Pad.build(value, low=list(low), high=list(high), value=fill, mode="constant").result


def elements(shape: Sequence[int]) -> int:
    """Number of elements of a shape."""
    return math.prod(shape)
