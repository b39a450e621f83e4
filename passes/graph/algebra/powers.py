"""Strength reduction: powers, quotients, exponentials and roots by cheaper operations."""

from typing import Any

import numpy as np

from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import SIGN_OF_ZERO, build, operands_of, replace, representable, result_of, wide
from mnc.passes.graph.matching import constant, constant_of, is_float, producer, splat_of
from mnc.passes.graph.ranges import interval, is_not_negative, sign_of_zero_is_seen

_POWERS = (0, 1, 2, 3, 4, -1, 0.5, -0.5)
_LARGEST_EXPONENT = 80.0
"""e to any number of this size is a normal single; half and bfloat types are not rewritten."""


class ConstantPower(Pattern):
    """``x ** c`` for c in 0, 1, 2, 3, 4, -1, and for x >= 0 in 1/2, -1/2 -> products, reciprocal, square root."""

    root = "graph.pow"

    def match(self, op: Any) -> Any:
        base, exponent = operands_of(op)
        power = splat_of(exponent)
        if power not in _POWERS or not is_float(result_of(op)):
            return None
        if power in (0.5, -0.5) and not is_not_negative(base):
            return refuse("the base may be -infinity, whose square root is NaN while its power 1/2 is infinity")
        if power == -0.5 and not interval(base)[0] > 0:
            return refuse("the base may be -0, whose power -1/2 is infinity while 1 / sqrt(-0) is -infinity")
        if power == 0.5 and sign_of_zero_is_seen(result_of(op)):
            return refuse(SIGN_OF_ZERO)
        return (power,)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, (power,) = operands_of(op)[0], match
        if power == 0:
            value = constant(1, like=x)
        elif power == -1:
            value = build("reciprocal", x)
        elif power in (0.5, -0.5):
            value = build("sqrt", x)
            value = value if power > 0 else build("reciprocal", value)
        else:
            value = x if power == 1 else build("mul", x, x)
            value = build("mul", value, {3: x, 4: value}[power]) if power > 2 else value
        replace(op, value, rewriter)


class ExactReciprocal(Pattern):
    """``x / c -> x * (1 / c)`` where every c is a power of two, so that nothing is rounded."""

    root = "graph.div"

    def match(self, op: Any) -> Any:
        array = constant_of(operands_of(op)[1])
        if array is None or not is_float(result_of(op)) or not array.size:
            return None
        divisor = wide(array)
        if not np.all(np.isfinite(divisor) & (divisor != 0)):
            return refuse("a divisor is 0 or not finite")
        if not np.all(np.abs(np.frexp(divisor)[0]) == 0.5):
            return refuse("the reciprocal of a divisor that is no power of two is rounded")
        inverse = 1 / divisor
        return (inverse,) if representable(inverse, result_of(op)) else refuse("a reciprocal is subnormal or infinite")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, build("mul", operands_of(op)[0], constant(match[0], like=result_of(op))), rewriter)


class ExpOfLog(Pattern):
    """``exp(log(x)) -> x`` for x >= 0."""

    root = "graph.exp"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "log")
        if inner is None:
            return None
        if not is_not_negative(operands_of(inner)[0]):
            return refuse("the logarithm of a negative number is NaN")
        return refuse(SIGN_OF_ZERO) if sign_of_zero_is_seen(result_of(op)) else operands_of(inner)[0]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, match, rewriter)


class LogOfExp(Pattern):
    """``log(exp(x)) -> x`` for x in [-80, 80]."""

    root = "graph.log"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "exp")
        if inner is None:
            return None
        x = operands_of(inner)[0]
        low, high = interval(x)
        limit = _LARGEST_EXPONENT if "32" in str(x.type) or "64" in str(x.type) else 0.0
        if low < -limit or high > limit:
            return refuse("the exponential may overflow to infinity or underflow to 0")
        return refuse(SIGN_OF_ZERO) if sign_of_zero_is_seen(result_of(op)) else x

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, match, rewriter)


class SquareOfRoot(Pattern):
    """``sqrt(x) * sqrt(x) -> x`` for x >= 0."""

    root = "graph.mul"

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        inner = producer(lhs, "sqrt") if lhs == rhs else None
        if inner is None:
            return None
        if not is_not_negative(operands_of(inner)[0]):
            return refuse("the square root of a negative number is NaN")
        return refuse(SIGN_OF_ZERO) if sign_of_zero_is_seen(result_of(op)) else operands_of(inner)[0]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, match, rewriter)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [ConstantPower(), ExactReciprocal(), ExpOfLog(), LogOfExp(), SquareOfRoot()]
