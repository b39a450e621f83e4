"""Derivatives of element-wise operations on several tensors; gradients are summed over repeated dimensions."""

from collections.abc import Callable

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint, Rule
from mnc.passes.autodiff.build import (
    Value,
    constant,
    div,
    greater,
    mul,
    neg,
    scale,
    shift,
    sub,
    unbroadcast,
    where,
)

Partial = Callable[[Value, Value, Value, Value], Value]
"""``partial(gradient, lhs, rhs, result)`` of the shape of the result."""


def binary(left: Partial, right: Partial) -> Rule:
    """Rule from the two partial derivatives."""

    def rule(a: Adjoint) -> list[Value | None]:
        g, (lhs, rhs), y = a.gradient, a.operands, a.result
        shapes = a.shape(0), a.shape(1)
        return [
            unbroadcast(partial(g, lhs, rhs, y), shape) if wanted else None
            for partial, shape, wanted in zip((left, right), shapes, a.wanted, strict=True)
        ]

    return rule


addition = binary(lambda g, a, b, y: g, lambda g, a, b, y: g)
subtraction = binary(lambda g, a, b, y: g, lambda g, a, b, y: neg(g))
multiplication = binary(lambda g, a, b, y: mul(g, b), lambda g, a, b, y: mul(g, a))
division = binary(lambda g, a, b, y: div(g, b), lambda g, a, b, y: neg(div(mul(g, y), b)))


def _chosen(g: Value, a: Value, b: Value) -> Value:
    """The gradient where a > b, half of it where they are equal."""
    return where(greater(a, b), g, where(graph.Equal.build(a, b).result, scale(g, 0.5), 0))


maximum = binary(lambda g, a, b, y: _chosen(g, a, b), lambda g, a, b, y: _chosen(g, b, a))
minimum = binary(lambda g, a, b, y: _chosen(g, b, a), lambda g, a, b, y: _chosen(g, a, b))


def _power_of_base(g: Value, a: Value, b: Value, y: Value) -> Value:
    return mul(g, mul(b, graph.Pow.build(a, shift(b, -1.0)).result))


def _power_of_exponent(g: Value, a: Value, b: Value, y: Value) -> Value:
    """y log(a); 0 for a = 0, where the function is constant in a positive exponent."""
    positive = greater(a, 0)
    logarithm = graph.Log.build(where(positive, a, constant(1, a))).result
    return mul(g, mul(y, logarithm))


power = binary(_power_of_base, _power_of_exponent)


def modulo(a: Adjoint) -> list[Value | None]:
    """a - b * floor(a / b), or truncated for fmod: 1 and minus the whole quotient between the jumps."""
    g, (lhs, rhs) = a.gradient, a.operands
    left = unbroadcast(g, a.shape(0)) if a.wanted[0] else None
    right = None
    if a.wanted[1]:
        quotient = div(sub(lhs, a.result), rhs)
        right = unbroadcast(neg(mul(g, graph.Round.build(quotient).result)), a.shape(1))
    return [left, right]


def selection(a: Adjoint) -> list[Value | None]:
    """Where: each side gets the gradient of the elements taken from it."""
    condition, g = a.operands[0], a.gradient
    left = unbroadcast(where(condition, g, 0), a.shape(1)) if a.wanted[1] else None
    right = unbroadcast(where(condition, constant(0, g), g), a.shape(2)) if a.wanted[2] else None
    return [None, left, right]
