"""Sums over comparisons with a row of distinct numbers: at most one of them is equal."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import build, operands_of, replace, result_of
from mnc.passes.graph.matching import (
    broadcast_to,
    constant,
    constant_of,
    is_float,
    producer,
    reshaped,
    shape_of,
    splat_of,
)


class SumOfOneHot(Pattern):
    """``sum(where(x == [0 .. n-1], c, 0)) -> where(x >= 0 and x < n, c, 0)`` along the axis of the numbers.

    Exact: at most one term of the sum is not zero. What it adds up is the gradient of a loss by its labels.
    """

    root = "graph.reduce"

    def match(self, op: Any) -> Any:
        attributes = op.operation.attributes
        axes = list(ir.DenseI64ArrayAttr(attributes["axes"]))
        chosen = producer(operands_of(op)[0], "where")
        if ir.StringAttr(attributes["kind"]).value != "sum" or len(axes) != 1 or chosen is None:
            return None
        condition, one, zero = operands_of(chosen)
        equal = producer(condition, "equal")
        if equal is None or splat_of(zero) != 0 or splat_of(one) is None:
            return None
        shape = shape_of(result_of(chosen))
        sides = [value for value in operands_of(equal) if not is_float(value)]
        for number, row in enumerate(sides):
            numbers = constant_of(row)
            if numbers is None or len(sides) != 2:
                continue
            if not _is_row(numbers, shape, axes[0]) or _extent(shape_of(sides[1 - number]), shape, axes[0]) != 1:
                return refuse("the comparison is not with one number per place of the axis")
            ordered = np.sort(numbers.reshape(-1).astype(np.int64))
            if np.any(np.diff(ordered) != 1):
                return refuse("the numbers compared with are no range")
            return sides[1 - number], row, splat_of(one), int(ordered[0]), int(ordered[-1]), shape, axes[0]
        return None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, row, value, low, high, shape, axis = match
        kept = tuple(1 if i == axis else extent for i, extent in enumerate(shape))
        from_low = build("greater_or_equal", x, constant(low, like=row))
        inside = build("and", from_low, build("less_or_equal", x, constant(high, like=row)))
        like = result_of(op)
        total = build("where", inside, constant(value, like=like), constant(0, like=like))
        replace(op, reshaped(broadcast_to(total, kept), shape_of(like)), rewriter)


def _extent(own: tuple[int, ...], shape: tuple[int, ...], axis: int) -> int:
    """Extent along an axis of `shape` of a tensor that is broadcast to it."""
    place = axis - (len(shape) - len(own))
    return own[place] if place >= 0 else 1


def _is_row(numbers: np.ndarray, shape: tuple[int, ...], axis: int) -> bool:
    """Whether the numbers vary along `axis` only, and are as many as its extent."""
    return numbers.size == shape[axis] == _extent(numbers.shape, shape, axis)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [SumOfOneHot()]
