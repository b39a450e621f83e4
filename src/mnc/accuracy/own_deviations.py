"""What one operation rounds: several roundings of an element are taken together by the root of their squares."""

from typing import Any

import numpy as np

from mnc.accuracy.error_rules import apply, kind_of, terms
from mnc.accuracy.rounding import Rounding
from mnc.accuracy.worst_case import SUMS, magnitude, own_error
from mnc.core.bindings import ir
from mnc.passes.graph.evaluate import python_attributes

LANES = 8
"""Neighbours that can share a block; where blocks begin is the compiler's choice."""
CONTRACTIONS = ("matmul", "conv", "conv_transpose")
LINEAR_SUMS = ("sum", "mean", "average")

Array = np.ndarray


def _largest_near(size: Array, axis: int) -> Array:
    """For every element the largest of all that may share its block along an axis."""
    moved = np.moveaxis(size, axis, -1)
    extent = moved.shape[-1]
    padded = np.zeros((*moved.shape[:-1], extent + 2 * (LANES - 1)), moved.dtype)
    padded[..., LANES - 1 : LANES - 1 + extent] = moved
    for shift in (1, 2, 4, 7):  # windows of 2, 4, 8 and 15
        padded = np.maximum(padded[..., :-shift], padded[..., shift:])
    return np.moveaxis(padded[..., :extent], -1, axis)


def conversion_bound(op: Any, number: int, value: Array, how: Rounding) -> Array:
    """Largest error of every element of a factor when it becomes block floating point: 2^-bits of the largest of its
    block, which lies along a contracted dimension."""
    size = magnitude(value)
    kind = kind_of(op)
    if kind == "matmul":
        axes = [-1 if number == 0 or value.ndim == 1 else -2]
    else:
        axes = [axis for axis in range(value.ndim) if axis != (0 if number == 0 or kind == "conv" else 1)]
    assert how.conversion_bits is not None
    if how.is_apart:
        near = [np.broadcast_to(size.max(axis=tuple(axes), keepdims=True, initial=0.0), size.shape)]
    else:
        near = [_largest_near(size, axis) for axis in axes]
    bound = np.maximum.reduce(near) * 2.0**-how.conversion_bits
    bound = np.maximum(bound, np.where(size > 0, how.flushed, 0.0))
    return np.where((bound < 0.5) & (value == np.rint(value)), 0.0, bound)  # a grid of a power of two below 1


def _accumulated(op: Any, x: list[Array], result: Array, how: Rounding) -> Array:
    """Root of the sum of squares of the roundings of a sum. A partial sum of terms in an order that is unrelated to
    their values has a mean square of at most that of the whole plus the sum of the squares of the terms."""
    element = ir.RankedTensorType(op.operation.results[0].type).element_type
    squares = [np.square(magnitude(value)) for value in x[:2]]
    total, count = magnitude(result), terms(op)
    if kind_of(op) in CONTRACTIONS:
        rounds = -(-count // how.block) + how.stages
        unit = how.accumulating_unit(element, True)
        return unit * np.sqrt(rounds * (np.square(total) + apply(op, *squares)))
    is_mean = python_attributes(op).get("kind") in ("mean", "average")
    share = apply(op, squares[0]) / (count if is_mean else 1)
    rounds = count + how.stages
    return how.accumulating_unit(element, False) * np.sqrt(rounds * (np.square(total) + share))


def own_deviation(op: Any, x: list[Array], result: Array, how: Rounding) -> Array:
    """Bound of what an operation rounds, several roundings taken together by the root of their squares; conversions of
    factors, which are disturbed themselves, left out."""
    if kind_of(op) not in SUMS or python_attributes(op).get("kind", "sum") not in LINEAR_SUMS:
        return own_error(op, x, result, how)
    element = ir.RankedTensorType(op.operation.results[0].type).element_type
    # The last rounding, a bias, the factor of a mean.
    last = how.unit(element) * magnitude(result) * 3 + how.underflow(element)
    return np.hypot(_accumulated(op, x, result, how), last)
