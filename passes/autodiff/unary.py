"""Derivatives of element-wise operations on one tensor: gradient times f'(x)."""

import math
from collections.abc import Callable

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint, Rule
from mnc.passes.autodiff.build import (
    Value,
    add,
    cast,
    constant,
    div,
    element_of,
    exp,
    greater,
    mul,
    neg,
    scale,
    shift,
    sub,
    where,
)


def unary(derivative: Callable[[Value, Value, Value], Value]) -> Rule:
    """Rule from ``derivative(gradient, x, y)`` with operand x and result y."""
    return lambda a: [derivative(a.gradient, a.operands[0], a.result)]


def _one_minus(value: Value) -> Value:
    return sub(constant(1.0, value), value)


def _square(value: Value) -> Value:
    return mul(value, value)


negation = unary(lambda g, x, y: neg(g))
absolute = unary(lambda g, x, y: mul(g, graph.Sign.build(x).result))
exponential = unary(lambda g, x, y: mul(g, y))
logarithm = unary(lambda g, x, y: div(g, x))
square_root = unary(lambda g, x, y: div(scale(g, 0.5), y))
reciprocal = unary(lambda g, x, y: neg(mul(g, _square(y))))
sine = unary(lambda g, x, y: mul(g, graph.Cos.build(x).result))
cosine = unary(lambda g, x, y: neg(mul(g, graph.Sin.build(x).result)))
erf = unary(lambda g, x, y: mul(g, scale(exp(neg(_square(x))), 2 / math.sqrt(math.pi))))
relu = unary(lambda g, x, y: where(greater(y, 0), g, 0))
sigmoid = unary(lambda g, x, y: mul(g, mul(y, _one_minus(y))))
tanh = unary(lambda g, x, y: mul(g, _one_minus(_square(y))))
softplus = unary(lambda g, x, y: mul(g, graph.Sigmoid.build(x).result))


def step(a: Adjoint) -> list[Value | None]:
    """Floor, ceil, round, sign: constant between their jumps."""
    return [None]


def leaky_relu(a: Adjoint) -> list[Value]:
    """g, or alpha * g for negative x; 1 at 0."""
    negative = graph.Less.build(a.operands[0], constant(0, a.operands[0])).result
    return [where(negative, scale(a.gradient, a.real("alpha")), a.gradient)]


def elu(a: Adjoint) -> list[Value]:
    """For negative x: d/dx alpha (e**x - 1) = y + alpha."""
    slope = mul(a.gradient, shift(a.result, a.real("alpha")))
    return [where(graph.Less.build(a.operands[0], constant(0, a.result)).result, slope, a.gradient)]


def selu(a: Adjoint) -> list[Value]:
    """As elu, times gamma."""
    alpha, gamma = a.real("alpha"), a.real("gamma")
    slope = mul(a.gradient, shift(a.result, alpha * gamma))
    return [where(greater(a.operands[0], 0), scale(a.gradient, gamma), slope)]


def _inside(value: Value, low: float, high: float, gradient: Value) -> Value:
    """The gradient where low < value < high, else 0."""
    held = graph.And.build(greater(value, low), graph.Less.build(value, constant(high, value)).result).result
    return where(held, gradient, 0)


def hard_sigmoid(a: Adjoint) -> list[Value]:
    """alpha between the two corners."""
    return [_inside(a.result, 0.0, 1.0, scale(a.gradient, a.real("alpha")))]


def hard_swish(a: Adjoint) -> list[Value]:
    """1 above 3, x / 3 + 1 / 2 between -3 and 3, 0 below."""
    x, g = a.operands[0], a.gradient
    middle = mul(g, shift(scale(x, 1 / 3), 0.5))
    return [where(greater(x, 3), g, where(greater(x, -3), middle, 0))]


def mish(a: Adjoint) -> list[Value]:
    """With t = tanh(softplus(x)): t + x (1 - t**2) sigmoid(x)."""
    x = a.operands[0]
    t = graph.Tanh.build(graph.Softplus.build(x).result).result
    slope = mul(mul(x, _one_minus(_square(t))), graph.Sigmoid.build(x).result)
    return [mul(a.gradient, add(t, slope))]


def gelu(a: Adjoint) -> list[Value]:
    """Exact: Phi(x) + x phi(x). Tanh form: (1 + t) / 2 + x (1 - t**2) u' / 2 with t = tanh(u)."""
    x = a.operands[0]
    if a.text("approximate") == "none":
        cumulative = scale(shift(graph.Erf.build(scale(x, math.sqrt(0.5))).result, 1.0), 0.5)
        density = scale(exp(scale(_square(x), -0.5)), 1 / math.sqrt(2 * math.pi))
        return [mul(a.gradient, add(cumulative, mul(x, density)))]
    c, k = math.sqrt(2 / math.pi), 0.044715
    square = _square(x)
    t = graph.Tanh.build(scale(mul(x, shift(scale(square, k), 1.0)), c)).result
    inner = scale(shift(scale(square, 3 * k), 1.0), c)
    slope = mul(mul(x, _one_minus(_square(t))), inner)
    return [mul(a.gradient, scale(add(shift(t, 1.0), slope), 0.5))]


def clip(a: Adjoint) -> list[Value]:
    """1 where the value is not cut, including at the bounds."""
    x, g = a.operands[0], a.gradient
    if "min" in a.attributes:
        g = where(graph.Less.build(x, constant(a.real("min"), x)).result, constant(0, g), g)
    if "max" in a.attributes:
        g = where(greater(x, a.real("max")), constant(0, g), g)
    return [g]


def convert(a: Adjoint) -> list[Value]:
    """Cast between float types: cast back."""
    return [cast(a.gradient, element_of(a.operands[0]))]
