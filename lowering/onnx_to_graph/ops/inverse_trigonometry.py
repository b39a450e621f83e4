"""Arc tangent, sine and cosine: all three by one polynomial around zero.

The polynomial is the interpolation in Chebyshev points of the smooth factor of the arc tangent; its error is below that
of single precision. Arguments are brought into its range by the laws of the function, each step without cancellation,
so that small results keep their relative accuracy.
"""

import math
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant

_WIDEST = math.tan(math.pi / 8)
_DEGREE = 5  # of the factor, in the square of the argument: error 3e-9


def _factor(square: np.ndarray) -> np.ndarray:
    """``(atan(u) / u - 1) / u^2`` in terms of u^2."""
    u = np.sqrt(square)
    return (np.arctan(u) / u - 1) / square


def _coefficients() -> list[float]:
    fit = Chebyshev.interpolate(_factor, _DEGREE, domain=[0.0, _WIDEST**2])
    return [float(c) for c in fit.convert(kind=Polynomial).coef]


def _number(value: float, like: Any) -> Any:
    return constant(value, like=like)


def _around_zero(u: Any) -> Any:
    """Arc tangent up to `_WIDEST`: ``u + u^3 p(u^2)``."""
    square = graph.Mul.build(u, u).result
    *lower, total = [_number(c, u) for c in _coefficients()]
    for coefficient in reversed(lower):
        total = graph.Add.build(graph.Mul.build(total, square), coefficient).result
    return graph.Add.build(u, graph.Mul.build(u, graph.Mul.build(square, total))).result


def _where(condition: Any, a: Any, b: Any) -> Any:
    return graph.Where.build(condition, a, b).result


def _arc_tangent(size: Any) -> Any:
    """Of numbers that are not negative: ``pi/2 - atan(1/x)`` above 1, ``pi/4 + atan((t - 1) / (t + 1))`` in
    the middle."""
    one = _number(1.0, size)
    is_large = graph.Greater.build(size, one).result
    t = _where(is_large, graph.Reciprocal.build(graph.Max.build(size, one)).result, size)
    is_middle = graph.Greater.build(t, _number(_WIDEST, t)).result
    turned = graph.Div.build(graph.Sub.build(t, one), graph.Add.build(t, one)).result
    angle = _around_zero(_where(is_middle, turned, t))
    angle = _where(is_middle, graph.Add.build(angle, _number(math.pi / 4, t)).result, angle)
    return _where(is_large, graph.Sub.build(_number(math.pi / 2, t), angle).result, angle)


def _odd(x: Any, of_size: Any) -> Any:
    """The value for the magnitude of x with the sign of x."""
    return _where(graph.Less.build(x, _number(0.0, x)).result, graph.Neg.build(of_size).result, of_size)


def atan(node: Node) -> Any:
    """Arc tangent."""
    x = node.operand(0)
    return _odd(x, _arc_tangent(graph.Abs.build(x).result))


def asin(node: Node) -> Any:
    """Arc sine: ``2 atan(x / (1 + sqrt((1 - x) (1 + x))))``."""
    x = node.operand(0)
    one, size = _number(1.0, x), graph.Abs.build(x).result
    root = graph.Sqrt.build(graph.Mul.build(graph.Sub.build(one, size), graph.Add.build(one, size))).result
    half = _arc_tangent(graph.Div.build(size, graph.Add.build(one, root)).result)
    return _odd(x, graph.Add.build(half, half).result)


def acos(node: Node) -> Any:
    """Arc cosine: ``2 atan(sqrt((1 - x) / (1 + x)))`` of the magnitude, taken from pi for negative x."""
    x = node.operand(0)
    one, size = _number(1.0, x), graph.Abs.build(x).result
    quotient = graph.Div.build(graph.Sub.build(one, size), graph.Add.build(one, size)).result
    half = _arc_tangent(graph.Sqrt.build(quotient).result)
    angle = graph.Add.build(half, half).result
    is_negative = graph.Less.build(x, _number(0.0, x)).result
    return _where(is_negative, graph.Sub.build(_number(math.pi, x), angle).result, angle)
