"""Comparisons, selections, bounds."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import SIGN_OF_ZERO, RootedPattern, build, operands_of, replace, result_of
from mnc.passes.graph.matching import broadcast_to, constant, is_float, producer, shape_of, splat_of
from mnc.passes.graph.ranges import interval, is_not_negative, sign_of_zero_is_seen

_OPPOSITE = {"less": "greater_or_equal", "greater": "less_or_equal", "less_or_equal": "greater",
             "greater_or_equal": "less"}  # fmt: skip
Clamp = tuple[ir.Value, float, float]


def _single(value: float) -> bool:
    """Whether a single holds the number."""
    return float(np.float32(value)) == value


def _is_minus_zero(value: float) -> bool:
    return value == 0 and math.copysign(1, value) < 0


def clamp_of(op: Any) -> Clamp | None:
    """x, low, high of an operation that computes min(max(x, low), high) on floats."""
    kind, operands = op.operation.name.removeprefix("graph."), operands_of(op)
    if kind not in ("relu", "clip", "max", "min") or not is_float(result_of(op)):
        return None
    if kind == "relu":
        return operands[0], 0.0, math.inf
    if kind == "clip":
        low = op.operation.attributes["min"].value if "min" in op.operation.attributes else -math.inf
        high = op.operation.attributes["max"].value if "max" in op.operation.attributes else math.inf
        return operands[0], low, high
    bound = splat_of(operands[1])
    if (
        bound is None
        or math.isnan(bound)
        or not _single(bound)
        or _is_minus_zero(bound)
        or shape_of(operands[0]) != shape_of(result_of(op))
    ):
        return None
    return (operands[0], bound, math.inf) if kind == "max" else (operands[0], -math.inf, bound)


def make_clamp(x: ir.Value, low: float, high: float) -> ir.Value:
    """The plainest operation for the bounds."""
    if low == 0 and not _is_minus_zero(low) and high == math.inf:
        return build("relu", x)
    return build("clip", x, min=None if low == -math.inf else low, max=None if high == math.inf else high)


class ClampOfClamp(RootedPattern):
    """``min(max(min(max(x, a), b), c), d) -> min(max(x, low), high)``, also for relu, max and min with a constant.

    Both are monotonous, so the bounds of the composition are the images of the infinities.
    """

    def match(self, op: Any) -> Any:
        outer = clamp_of(op)
        inner = None if outer is None or isinstance(outer[0].owner, ir.Block) else clamp_of(outer[0].owner)
        if outer is None or inner is None:
            return None
        low, high = (min(max(min(max(x, inner[1]), inner[2]), outer[1]), outer[2]) for x in (-math.inf, math.inf))
        if 0 in (*inner[1:], *outer[1:]) and sign_of_zero_is_seen(result_of(op)):
            return refuse(SIGN_OF_ZERO)
        return inner[0], low, high

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [make_clamp(*match)])


class BoundAsClip(RootedPattern):
    """``max(x, 0) -> relu(x)``, ``max(x, c) -> clip(x)``, ``min(x, c) -> clip(x)``; a clip to [0, inf) is relu."""

    def match(self, op: Any) -> Any:
        clamp = clamp_of(op)
        if clamp is None or (self.root == "graph.clip" and (clamp[1:] != (0, math.inf) or _is_minus_zero(clamp[1]))):
            return None
        return clamp

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [make_clamp(*match)])


class UselessBound(RootedPattern):
    """``clip(x) -> x`` where x lies within the bounds."""

    def match(self, op: Any) -> Any:
        clamp = clamp_of(op)
        if clamp is None:
            return None
        low, high = interval(clamp[0])
        if low < clamp[1] or high > clamp[2]:
            return None
        return refuse(SIGN_OF_ZERO) if 0 in clamp[1:] and sign_of_zero_is_seen(result_of(op)) else clamp[0]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [match])


class Repeated(RootedPattern):
    """``max(x, x)``, ``min(x, x)``, ``x and x``, ``x or x`` -> x."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        return True if lhs == rhs else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, operands_of(op)[0], rewriter)


class LogicWithConstant(RootedPattern):
    """``x and true -> x``, ``x and false -> false``, ``x or false -> x``, ``x or true -> true``, ``x xor c``."""

    def match(self, op: Any) -> Any:
        value = splat_of(operands_of(op)[1])
        return None if value is None else (bool(value),)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, c = operands_of(op)
        if self.root == "graph.xor":
            replace(op, build("not", x) if match[0] else x, rewriter)
        else:
            replace(op, x if match[0] == (self.root == "graph.and") else c, rewriter)


class NegatedComparison(Pattern):
    """``not (a < b) -> a >= b`` on integers."""

    root = "graph.not"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], *_OPPOSITE)
        if inner is None:
            return None
        if is_float(operands_of(inner)[0]):
            return refuse("with NaN both comparisons are false, so one is not the negation of the other")
        return inner

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        kind = _OPPOSITE[match.operation.name.removeprefix("graph.")]
        rewriter.replace_op(op, [build(kind, *operands_of(match))])


class ComparedWithItself(RootedPattern):
    """``x < x``, ``x > x`` -> false; on integers also ``x == x``, ``x <= x``, ``x >= x`` -> true."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        if lhs != rhs:
            return None
        strict = self.root in ("graph.less", "graph.greater")
        if not strict and is_float(lhs):
            return refuse("NaN is not equal to itself")
        return (not strict,)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, constant(np.array(match[0])), rewriter)


class SameBranches(Pattern):
    """``where(c, x, x) -> x``, ``where(true, x, y) -> x``, ``where(false, x, y) -> y``."""

    root = "graph.where"

    def match(self, op: Any) -> Any:
        condition, lhs, rhs = operands_of(op)
        if lhs == rhs:
            return lhs
        value = splat_of(condition)
        return None if value is None else (lhs if value else rhs)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, match, rewriter)


class NegatedCondition(Pattern):
    """``where(not c, x, y) -> where(c, y, x)``."""

    root = "graph.where"

    def match(self, op: Any) -> Any:
        return producer(operands_of(op)[0], "not")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        _, lhs, rhs = operands_of(op)
        rewriter.replace_op(op, [build("where", operands_of(match)[0], rhs, lhs)])


class SelectedBound(Pattern):
    """``where(a > b, a, b) -> max(a, b)`` and ``where(a < b, a, b) -> min(a, b)`` on integers."""

    root = "graph.where"
    _BOUND = {"greater": "max", "greater_or_equal": "max", "less": "min", "less_or_equal": "min"}

    def match(self, op: Any) -> Any:
        condition, lhs, rhs = operands_of(op)
        comparison = producer(condition, *self._BOUND)
        if comparison is None or operands_of(comparison) != [lhs, rhs]:
            return None
        if is_float(lhs):
            return refuse("with NaN the comparison chooses the second value, and a maximum or minimum is NaN")
        return self._BOUND[comparison.operation.name.removeprefix("graph.")]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        _, lhs, rhs = operands_of(op)
        rewriter.replace_op(op, [broadcast_to(build(match, lhs, rhs), shape_of(result_of(op)))])


class KnownComparison(Pattern):
    """``x < 0 -> false`` where x is not negative: NaN compares false as well."""

    root = "graph.less"

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        return True if splat_of(rhs) == 0 and is_float(lhs) and is_not_negative(lhs) else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, constant(np.array(False)), rewriter)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    comparisons = ("equal", "less", "greater", "less_or_equal", "greater_or_equal")
    return [
        *(ClampOfClamp(kind) for kind in ("relu", "clip", "max", "min")),
        *(UselessBound(kind) for kind in ("clip", "max", "min")),
        *(BoundAsClip(kind) for kind in ("max", "min", "clip")),
        *(Repeated(kind) for kind in ("max", "min", "and", "or")),
        *(LogicWithConstant(kind) for kind in ("and", "or", "xor")),
        *(ComparedWithItself(kind) for kind in comparisons),
        NegatedComparison(),
        SameBranches(),
        NegatedCondition(),
        SelectedBound(),
        KnownComparison(),
    ]
