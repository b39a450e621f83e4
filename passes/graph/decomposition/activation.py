"""Activations in terms of exp, log, tanh, erf, comparisons and arithmetic; divisions by few numbers."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Refusal, refuse
from mnc.passes.graph.decomposition.build import Handler, real, value
from mnc.passes.graph.matching import constant_of, is_constant, is_float, producer, size_of
from mnc.passes.graph.ranges import interval


def mish(op: Any) -> list[ir.Value]:
    """``x * tanh(softplus(x))``. Softplus stays whole: its logarithm of 1 + e needs a function of its own, because the
    sum loses a small e."""
    x = op.operation.operands[0]
    return [value("mul", x, value("tanh", value("softplus", x)))]


def gelu(op: Any) -> list[ir.Value]:
    """``x / 2 * (1 + erf(x / sqrt(2)))``, or its tanh form."""
    x = op.operation.operands[0]
    if ir.StringAttr(op.operation.attributes["approximate"]).value == "tanh":
        cube = value("mul", value("mul", x, x), x)
        inner = value("mul", value("add", x, value("mul", cube, 0.044715)), math.sqrt(2 / math.pi))
        # (1 + tanh(y)) / 2 = sigmoid(2y), which does not cancel where y is very negative.
        return [value("mul", x, value("sigmoid", value("mul", inner, 2)))]
    bent = value("erf", value("mul", x, math.sqrt(0.5)))
    return [value("mul", value("mul", x, 0.5), value("add", bent, 1))]


def _clamped_line(x: ir.Value, slope: float, offset: float) -> ir.Value:
    return value("clip", value("add", value("mul", x, slope), offset), min=0.0, max=1.0)


def hard_swish(op: Any) -> list[ir.Value]:
    """``x * clip(x / 6 + 1 / 2)``."""
    x = op.operation.operands[0]
    return [value("mul", x, _clamped_line(x, 1 / 6, 0.5))]


def hard_sigmoid(op: Any) -> list[ir.Value]:
    """``clip(alpha * x + beta)``."""
    return [_clamped_line(op.operation.operands[0], real(op, "alpha"), real(op, "beta"))]


def _curve(x: ir.Value, alpha: float) -> ir.Value:
    return value("mul", value("sub", value("exp", x), 1), alpha)


def elu(op: Any) -> list[ir.Value]:
    """``where(x >= 0, x, alpha * (exp(x) - 1))``: the infinity of a large x is not selected."""
    x = op.operation.operands[0]
    return [value("where", value("greater_or_equal", x, 0), x, _curve(x, real(op, "alpha")))]


def selu(op: Any) -> list[ir.Value]:
    """``gamma * where(x > 0, x, alpha * (exp(x) - 1))``."""
    x = op.operation.operands[0]
    chosen = value("where", value("greater", x, 0), x, _curve(x, real(op, "alpha")))
    return [value("mul", chosen, real(op, "gamma"))]


_LEAST, _MOST = 2.0**-126, 2.0**126
"""Between these the reciprocal of a single is a normal number."""


def _has_reciprocal(divisor: ir.Value) -> bool:
    """Whether no finite element has a subnormal or infinite reciprocal."""
    array = constant_of(divisor)
    if array is not None:
        size = np.abs(array.astype(np.float64))
        return bool(array.size and np.all((size >= _LEAST) & (size <= _MOST)))
    low, high = interval(divisor)
    # The square root of a single is below 2**64, or infinite, whose reciprocal 0 is right.
    return low >= _LEAST and (high <= _MOST or producer(divisor, "sqrt") is not None)


def div(op: Any) -> list[ir.Value] | Refusal:
    """``x / d -> x * reciprocal(d)`` for d smaller than the result: at most 1.5 ulp from the quotient."""
    x, divisor = op.operation.operands
    if not is_float(x):
        return refuse("a quotient of integers is truncated")
    if size_of(divisor) >= size_of(op.operation.results[0]) and not is_constant(divisor):
        return refuse("there are as many divisors as quotients, so that a reciprocal saves nothing")
    if not _has_reciprocal(divisor):
        return refuse("a divisor may be so small or so large that its reciprocal is no normal number")
    return [value("mul", x, value("reciprocal", divisor))]


HANDLERS: Mapping[str, Handler] = {
    "mish": mish,
    "gelu": gelu,
    "hard_swish": hard_swish,
    "hard_sigmoid": hard_sigmoid,
    "elu": elu,
    "selu": selu,
    "div": div,
}
