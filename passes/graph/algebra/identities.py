"""Neutral elements, inverses, operations that undo or repeat each other."""

import math
from typing import Any

from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import SIGN_OF_ZERO, RootedPattern, build, operands_of, replace, result_of
from mnc.passes.graph.matching import constant, is_constant, is_float, producer, reshaped, shape_of, splat_of
from mnc.passes.graph.ranges import is_not_negative, sign_of_zero_is_seen


class ConstantToTheRight(RootedPattern):
    """``c + x -> x + c`` for commutative operations, so that other patterns look in one place."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        return True if is_constant(lhs) and not is_constant(rhs) else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = operands_of(op)
        rewriter.replace_op(op, [build(self.root.removeprefix("graph."), rhs, lhs)])


class NeutralElement(RootedPattern):
    """``x + 0``, ``x - 0``, ``x * 1``, ``x / 1`` -> x."""

    def match(self, op: Any) -> Any:
        value = splat_of(operands_of(op)[1])
        if value is None or value != (0 if self.root in ("graph.add", "graph.sub") else 1):
            return None
        if self.root in ("graph.mul", "graph.div") or not is_float(result_of(op)):
            return True
        # -0 + 0 is +0, while -0 + -0 and -0 - 0 stay -0.
        keeps_zero = (math.copysign(1, value) < 0) == (self.root == "graph.add")
        return True if keeps_zero or not sign_of_zero_is_seen(result_of(op)) else refuse(SIGN_OF_ZERO)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, operands_of(op)[0], rewriter)


class Annihilator(RootedPattern):
    """``x * 0``, ``x - x`` -> 0 and ``x / x -> 1``: only on integers (and the last not at all)."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        kind = self.root.removeprefix("graph.")
        if kind == "mul":
            reason = "infinity and NaN times 0 are NaN"
            applies = splat_of(rhs) == 0
        else:
            reason = "the difference is NaN for infinities and NaN" if kind == "sub" else "0 / 0 has no value 1"
            applies = lhs == rhs
        if not applies:
            return None
        return refuse(reason) if is_float(result_of(op)) or kind == "div" else True

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, constant(0, like=result_of(op)), rewriter)


class TimesMinusOne(Pattern):
    """``x * -1 -> -x``."""

    root = "graph.mul"

    def match(self, op: Any) -> Any:
        return True if splat_of(operands_of(op)[1]) == -1 else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, build("neg", operands_of(op)[0]), rewriter)


class ZeroMinus(Pattern):
    """``0 - x -> -x``."""

    root = "graph.sub"

    def match(self, op: Any) -> Any:
        if splat_of(operands_of(op)[0]) != 0:
            return None
        exact = not is_float(result_of(op)) or not sign_of_zero_is_seen(result_of(op))
        return True if exact else refuse(SIGN_OF_ZERO)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, build("neg", operands_of(op)[1]), rewriter)


class Involution(RootedPattern):
    """``-(-x) -> x``, ``not (not x) -> x``."""

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], self.root.removeprefix("graph."))
        return None if inner is None else operands_of(inner)[0]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, match, rewriter)


class Idempotent(RootedPattern):
    """``f(f(x)) -> f(x)`` for abs, relu, sign and roundings; ``floor(round(x)) -> round(x)`` and the like."""

    _ROUNDINGS = ("floor", "ceil", "round", "sign")

    def match(self, op: Any) -> Any:
        kind = self.root.removeprefix("graph.")
        same = self._ROUNDINGS if kind in self._ROUNDINGS[:3] else (kind,)
        return True if producer(operands_of(op)[0], *same) is not None else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, operands_of(op)[0], rewriter)


class OfNotNegative(RootedPattern):
    """``abs(x)``, ``relu(x)``, ``leaky_relu(x)``, ``elu(x)`` -> x where x >= 0."""

    def match(self, op: Any) -> Any:
        if not is_not_negative(operands_of(op)[0]):
            return None
        return True if not sign_of_zero_is_seen(result_of(op)) else refuse(SIGN_OF_ZERO)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, operands_of(op)[0], rewriter)


class AbsOfNegated(Pattern):
    """``abs(-x) -> abs(x)``."""

    root = "graph.abs"

    def match(self, op: Any) -> Any:
        return producer(operands_of(op)[0], "neg")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, build("abs", operands_of(match)[0]), rewriter)


class NegatedDifference(Pattern):
    """``-(a - b) -> b - a``."""

    root = "graph.neg"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "sub")
        if inner is None:
            return None
        exact = not is_float(result_of(op)) or not sign_of_zero_is_seen(result_of(op))
        return inner if exact else refuse(SIGN_OF_ZERO)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = operands_of(match)
        replace(op, build("sub", rhs, lhs), rewriter)


class SumWithNegated(RootedPattern):
    """``a + -b -> a - b``, ``-a + b -> b - a``, ``a - -b -> a + b``."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        subtraction = self.root == "graph.sub"
        if producer(rhs, "neg") is not None:
            return "add" if subtraction else "sub", lhs, operands_of(producer(rhs, "neg"))[0]
        if producer(lhs, "neg") is not None and not subtraction:
            return "sub", rhs, operands_of(producer(lhs, "neg"))[0]
        return None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        kind, lhs, rhs = match
        replace(op, build(kind, lhs, rhs), rewriter)


class ProductOfNegated(RootedPattern):
    """``-a * -b -> a * b``, ``-a / -b -> a / b``, ``-a * c -> a * -c`` for a constant c."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        negated = producer(lhs, "neg")
        if negated is None:
            return None
        if producer(rhs, "neg") is not None or is_constant(rhs):
            return operands_of(negated)[0], rhs
        return None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = match
        negated = producer(rhs, "neg")
        other = build("neg", rhs) if negated is None else operands_of(negated)[0]
        replace(op, build(self.root.removeprefix("graph."), lhs, other), rewriter)


class SameType(Pattern):
    """``cast(x) -> x`` where the element type stays."""

    root = "graph.cast"

    def match(self, op: Any) -> Any:
        return True if operands_of(op)[0].type == result_of(op).type else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, operands_of(op)[0], rewriter)


class EmptyReduction(Pattern):
    """A reduction of extents that are all 1 is a reshape: kinds sum, max, min, mean, prod."""

    root = "graph.reduce"

    def match(self, op: Any) -> Any:
        operand = operands_of(op)[0]
        axes = list(op.operation.attributes["axes"])
        kind = op.operation.attributes["kind"].value
        trivial = all(shape_of(operand)[axis] == 1 for axis in axes)
        return True if trivial and kind in ("sum", "max", "min", "mean", "prod") else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [reshaped(operands_of(op)[0], shape_of(result_of(op)))])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [
        *(ConstantToTheRight(kind) for kind in ("add", "mul", "max", "min", "equal", "and", "or", "xor")),
        *(NeutralElement(kind) for kind in ("add", "sub", "mul", "div")),
        *(Annihilator(kind) for kind in ("mul", "sub", "div")),
        *(Involution(kind) for kind in ("neg", "not")),
        *(Idempotent(kind) for kind in ("abs", "relu", "sign", "floor", "ceil", "round")),
        *(OfNotNegative(kind) for kind in ("abs", "relu", "leaky_relu", "elu")),
        *(SumWithNegated(kind) for kind in ("add", "sub")),
        *(ProductOfNegated(kind) for kind in ("mul", "div")),
        TimesMinusOne(),
        ZeroMinus(),
        AbsOfNegated(),
        NegatedDifference(),
        SameType(),
        EmptyReduction(),
    ]
