"""Derivatives of the normalisations."""

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint
from mnc.passes.autodiff.build import Value, mul, neg, reduce, reshape, scale, shift, sub, unbroadcast


def layer_norm(a: Adjoint) -> list[Value | None]:
    """With n = (x - mean) r and d = dy scale: dx = r (d - mean(d) - n mean(d n)), dscale = sum of dy n."""
    x, weight = a.operands[:2]
    mean, inverse = a.op.results[1], a.op.results[2]
    g, axes = a.gradient, list(range(a.int("axis"), len(a.shape(0))))
    normal = mul(sub(x, mean), inverse)
    data = None
    if a.wanted[0]:
        d = mul(g, weight)
        along = mul(normal, reduce(mul(d, normal), axes, "mean"))
        data = mul(inverse, sub(sub(d, reduce(d, axes, "mean")), along))
    out = [data, unbroadcast(mul(g, normal), a.shape(1)) if a.wanted[1] else None]
    if len(a.operands) == 3:
        out.append(unbroadcast(g, a.shape(2)) if a.wanted[2] else None)
    return out


def batch_norm(a: Adjoint) -> list[Value | None]:
    """y = (x - mean) r scale + bias with r = (variance + epsilon)**-1/2, statistics given: five partial derivatives."""
    x, weight, _, mean, variance = a.operands
    rank = len(a.shape(0))
    channel = [a.shape(0)[1], *[1] * (rank - 2)]
    axes = [0, *range(2, rank)]
    g = a.gradient
    inverse = graph.Reciprocal.build(graph.Sqrt.build(shift(variance, a.real("epsilon"))).result).result
    factor = mul(weight, inverse)
    centred = sub(x, reshape(mean, channel))
    total = reduce(g, axes, keepdims=False) if a.wanted[2] or a.wanted[3] else None
    product = reduce(mul(g, centred), axes, keepdims=False) if a.wanted[1] or a.wanted[4] else None
    cube = mul(mul(inverse, inverse), mul(inverse, weight))
    return [
        mul(g, reshape(factor, channel)) if a.wanted[0] else None,
        mul(product, inverse) if a.wanted[1] else None,
        total if a.wanted[2] else None,
        neg(mul(total, factor)) if a.wanted[3] else None,
        scale(mul(product, cube), -0.5) if a.wanted[4] else None,
    ]
