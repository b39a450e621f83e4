"""Derivatives of reductions, softmax and running sums."""

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint
from mnc.passes.autodiff.build import (
    Value,
    broadcast_to,
    cast,
    div,
    element_of,
    elements,
    exp,
    mul,
    neg,
    reduce,
    reshape,
    scale,
    sub,
)


def reduction(a: Adjoint) -> list[Value]:
    """Spread the gradient over the folded elements, weighted by the derivative of the kind."""
    x, kind = a.operands[0], a.text("kind")
    axes, shape = a.ints("axes"), a.shape(0)
    kept = [1 if i in axes else extent for i, extent in enumerate(shape)]
    g, y = reshape(a.gradient, kept), reshape(a.result, kept)
    if kind == "sum":
        return [broadcast_to(g, shape)]
    if kind == "mean":
        return [broadcast_to(scale(g, 1 / elements([shape[i] for i in axes])), shape)]
    if kind in ("max", "min"):
        # Equal extremes share the gradient.
        extreme = cast(graph.Equal.build(x, y).result, element_of(x))
        return [mul(div(g, reduce(extreme, axes)), extreme)]
    if kind == "l1":
        return [mul(g, graph.Sign.build(x).result)]
    if kind == "l2":
        return [mul(div(g, y), x)]
    if kind == "sum_square":
        return [mul(scale(g, 2.0), x)]
    if kind == "log_sum":
        return [broadcast_to(mul(g, exp(neg(y))), shape)]
    if kind == "log_sum_exp":
        return [mul(g, exp(sub(x, y)))]
    raise a.error(f"a reduction of kind {kind} has no rule for differentiation", "write it as log, sum and exp")


def softmax(a: Adjoint) -> list[Value]:
    """dx = y (dy - sum of y dy)."""
    y, g = a.result, a.gradient
    return [mul(y, sub(g, reduce(mul(g, y), [a.int("axis")])))]


def log_softmax(a: Adjoint) -> list[Value]:
    """dx = dy - softmax(x) * sum of dy."""
    g = a.gradient
    return [sub(g, mul(exp(a.result), reduce(g, [a.int("axis")])))]


def cumulative_sum(a: Adjoint) -> list[Value]:
    """The running sum of the gradient, from the other end."""
    reverse = not a.bool("reverse")
    return [graph.CumSum.build(a.gradient, axis=a.int("axis"), exclusive=a.bool("exclusive"), reverse=reverse).result]
