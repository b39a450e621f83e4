"""Hyperbolic functions, their inverses and the tangent in terms of exp, log, tanh, sin and cos.

Each is a sum of terms of one sign, or is taken by a branch where nothing cancels, so that a small result keeps its
relative accuracy.
"""

import math
from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant

_LARGE = 2.0**20  # above it x^2 + 1 and x^2 - 1 are x^2 in single
_SMALL = 0.5


def _number(value: float, like: Any) -> Any:
    return constant(value, like=like)


def _half_sum(x: Any, sign: int) -> Any:
    """(e^x + sign e^-x) / 2, in halves before the sum: e^x may be above the largest number where its half is not."""
    halves = []
    for power, factor in ((x, 0.5), (graph.Neg.build(x).result, 0.5 * sign)):
        shifted = graph.Sub.build(power, _number(math.log(2), x)).result
        value = graph.Exp.build(shifted).result
        halves.append(value if factor > 0 else graph.Neg.build(value).result)
    return graph.Add.build(*halves).result


def cosh(node: Node) -> Any:
    """Hyperbolic cosine."""
    return _half_sum(node.operand(0), 1)


def sinh(node: Node) -> Any:
    """Hyperbolic sine: ``2 t / ((1 - t) (1 + t))`` with t = tanh(x / 2) where the exponentials would cancel."""
    x = node.operand(0)
    one = _number(1.0, x)
    t = graph.Tanh.build(graph.Mul.build(x, _number(0.5, x))).result
    divisor = graph.Mul.build(graph.Sub.build(one, t), graph.Add.build(one, t)).result
    near = graph.Div.build(graph.Add.build(t, t), divisor).result
    is_near = graph.Less.build(graph.Abs.build(x), one).result
    return graph.Where.build(is_near, near, _half_sum(x, -1)).result


def tan(node: Node) -> Any:
    """Tangent."""
    x = node.operand(0)
    return graph.Div.build(graph.Sin.build(x), graph.Cos.build(x)).result


def _log1p(x: Any) -> Any:
    """log(1 + x): the rounding of 1 + x is taken back by the quotient of x and what was really added."""
    one = _number(1.0, x)
    total = graph.Add.build(x, one).result
    added = graph.Sub.build(total, one).result
    nothing = graph.Equal.build(added, _number(0.0, x)).result
    divisor = graph.Where.build(nothing, one, added).result
    corrected = graph.Mul.build(graph.Log.build(total), graph.Div.build(x, divisor)).result
    is_small = graph.Less.build(graph.Abs.build(x), _number(_SMALL, x)).result
    return graph.Where.build(is_small, graph.Where.build(nothing, x, corrected), graph.Log.build(total)).result


def _log_of_sum(size: Any, shifted: Any) -> Any:
    """log1p(shifted), or log(2 size) where squares on the way there would overflow."""
    far = graph.Add.build(graph.Log.build(size), _number(math.log(2), size)).result
    is_far = graph.Greater.build(size, _number(_LARGE, size)).result
    return graph.Where.build(is_far, far, _log1p(shifted)).result


def _limited(size: Any) -> Any:
    return graph.Clip.build(size, max=_LARGE).result


def asinh(node: Node) -> Any:
    """Inverse hyperbolic sine: ``log1p(x + x^2 / (1 + sqrt(x^2 + 1)))`` of the magnitude, with the sign of x."""
    x = node.operand(0)
    size = graph.Abs.build(x).result
    near = _limited(size)
    square = graph.Mul.build(near, near).result
    one = _number(1.0, x)
    root = graph.Sqrt.build(graph.Add.build(square, one)).result
    shifted = graph.Add.build(near, graph.Div.build(square, graph.Add.build(one, root))).result
    value = _log_of_sum(size, shifted)
    is_negative = graph.Less.build(x, _number(0.0, x)).result
    return graph.Where.build(is_negative, graph.Neg.build(value), value).result


def acosh(node: Node) -> Any:
    """Inverse hyperbolic cosine: ``log1p(t + sqrt(t (t + 2)))`` with t = x - 1."""
    x = node.operand(0)
    t = graph.Sub.build(_limited(x), _number(1.0, x)).result
    root = graph.Sqrt.build(graph.Mul.build(t, graph.Add.build(t, _number(2.0, x)))).result
    return _log_of_sum(x, graph.Add.build(t, root).result)


def atanh(node: Node) -> Any:
    """Inverse hyperbolic tangent: half of ``log1p(2 x / (1 - x))`` of the magnitude, with the sign of x."""
    x = node.operand(0)
    size = graph.Abs.build(x).result
    quotient = graph.Div.build(graph.Add.build(size, size), graph.Sub.build(_number(1.0, x), size)).result
    value = graph.Mul.build(_log1p(quotient), _number(0.5, x)).result
    is_negative = graph.Less.build(x, _number(0.0, x)).result
    return graph.Where.build(is_negative, graph.Neg.build(value), value).result
