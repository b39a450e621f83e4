"""Distributivity: one product for two, one contraction for two."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, Refusal, refuse
from mnc.dialects import graph
from mnc.passes.graph.algebra.association import combined, combined_arrays
from mnc.passes.graph.algebra.common import SIGN_OF_ZERO, RootedPattern, build, operands_of, replace, result_of
from mnc.passes.graph.matching import (
    constant,
    constant_of,
    element_of,
    has_one_use,
    is_float,
    producer,
    shape_of,
    size_of,
)
from mnc.passes.graph.ranges import interval, sign_of_zero_is_seen

_LARGE = 1e38
_OVERFLOW = "the sum of the factors may overflow where the sum of the products does not"
_USES = "a product has other uses, so that it is computed anyway"


_CANCELS = "for an infinite factor the products may cancel to NaN where the product of the sum does not"


def _bounded(*values: ir.Value) -> bool:
    """Whether sums of two of these cannot overflow."""
    limits = [abs(limit) for value in values for limit in interval(value)]
    return max(limits) <= _LARGE and all("32" in str(v.type) or "64" in str(v.type) for v in values)


def _signs(array: np.ndarray) -> np.ndarray:
    return np.sign(array.astype(np.float64))


def _grows_back(kind: str, a: ir.Value, b: ir.Value, c: ir.Value) -> Refusal | None:
    """Why (a + b) * c may be infinite or NaN where a * c + b * c is not, or the other way round; None if it cannot.

    With every |c| >= 1 the products are at least as large as their factors.
    """
    if not is_float(a):
        return None
    factor = constant_of(c)
    if factor is not None and factor.size and np.all(np.isfinite(factor)) and np.all(np.abs(factor) >= 1):
        return None
    if not _bounded(a, b):
        return refuse(_OVERFLOW)
    (low, high), (other_low, other_high) = interval(a), interval(b)
    if kind == "sub":
        other_low, other_high = -other_high, -other_low
    agree = min(low, other_low) >= 0 or max(high, other_high) <= 0
    return None if agree or _bounded(c) else refuse(_CANCELS)


def _common_factor(left: Any, right: Any) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    """a, b, c with left = a * c and right = b * c."""
    for i, c in enumerate(operands_of(left)):
        for j, d in enumerate(operands_of(right)):
            if c == d:
                return operands_of(left)[1 - i], operands_of(right)[1 - j], c
    return None


class CommonFactor(RootedPattern):
    """``a * c + b * c -> (a + b) * c``, and the same for differences."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        left, right = producer(lhs, "mul"), producer(rhs, "mul")
        if left is None or right is None or lhs == rhs:
            return None
        found = _common_factor(left, right)
        if found is None:
            return None
        a, b, c = found
        if not (has_one_use(lhs) and has_one_use(rhs)):
            return refuse(_USES)
        if is_float(a) and sign_of_zero_is_seen(result_of(op)):
            return refuse(SIGN_OF_ZERO)
        if size_of(a) != size_of(lhs) or size_of(b) != size_of(rhs):
            return refuse("a factor is broadcast, and the sum would be computed at full size")
        return _grows_back(self.root.removeprefix("graph."), a, b, c) or found

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        a, b, c = match
        replace(op, build("mul", build(self.root.removeprefix("graph."), a, b), c), rewriter)


class SumOfMultiples(RootedPattern):
    """``x * c + x * d -> x * (c + d)`` and ``x * c + x -> x * (c + 1)`` for constants; the same for differences."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        (x, c, left), (y, d, right) = _multiple(lhs), _multiple(rhs)
        if x != y or not (left or right) or lhs == rhs:
            return None
        if not all(has_one_use(side) for side, product in ((lhs, left), (rhs, right)) if product):
            return refuse(_USES)
        kind = self.root.removeprefix("graph.")
        if is_float(x) and not _bounded(x) and np.any(_signs(c) != _signs(d) * (-1 if kind == "sub" else 1)):
            return refuse(_CANCELS)
        if is_float(x) and sign_of_zero_is_seen(result_of(op)):
            return refuse(SIGN_OF_ZERO)
        value = combined_arrays(kind, c, d, x)
        return (x, value) if isinstance(value, np.ndarray | np.generic) else value

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, value = match
        replace(op, build("mul", x, constant(value, like=x)), rewriter)


def _multiple(value: ir.Value) -> tuple[ir.Value, np.ndarray, bool]:
    """x and the constant c with value = x * c, and whether there is a product at all."""
    product = producer(value, "mul")
    array = None if product is None else constant_of(operands_of(product)[1])
    if product is None or array is None:
        return value, np.ones((), graph.numpy_dtype(element_of(value))), False
    return operands_of(product)[0], array, True


class SumOfProjections(RootedPattern):
    """``x @ v + x @ w -> x @ (v + w)`` for weights v and w of one shape; the same for differences."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        left, right = producer(lhs, "matmul"), producer(rhs, "matmul")
        if left is None or right is None or lhs == rhs or operands_of(left)[0] != operands_of(right)[0]:
            return None
        v, w = operands_of(left)[1], operands_of(right)[1]
        if shape_of(v) != shape_of(w) or constant_of(v) is None or constant_of(w) is None:
            return refuse("the other operands are not constants of one shape")
        if not (has_one_use(lhs) and has_one_use(rhs)):
            return refuse(_USES)
        if is_float(lhs) and not _bounded(operands_of(left)[0]):
            return refuse(_CANCELS)
        value = combined(self.root.removeprefix("graph."), v, w)
        return (operands_of(left)[0], value) if isinstance(value, np.ndarray) else value

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, value = match
        replace(op, build("matmul", x, constant(value, like=x)), rewriter)


class ProjectionOfSum(RootedPattern):
    """``a @ w + b @ w -> (a + b) @ w``, where a + b cannot overflow; the same for differences."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        left, right = producer(lhs, "matmul"), producer(rhs, "matmul")
        if left is None or right is None or lhs == rhs or operands_of(left)[1] != operands_of(right)[1]:
            return None
        a, b, w = operands_of(left)[0], operands_of(right)[0], operands_of(left)[1]
        if shape_of(a) != shape_of(b):
            return refuse("the left operands have different shapes")
        if not (has_one_use(lhs) and has_one_use(rhs)):
            return refuse(_USES)
        if is_float(a) and not _bounded(a, b, w):
            return refuse(_OVERFLOW)
        return a, b, w

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        a, b, w = match
        replace(op, build("matmul", build(self.root.removeprefix("graph."), a, b), w), rewriter)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    families = (CommonFactor, SumOfMultiples, SumOfProjections, ProjectionOfSum)
    return [family(kind) for family in families for kind in ("add", "sub")]
