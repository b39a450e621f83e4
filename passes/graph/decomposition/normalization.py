"""Layer and batch normalisation."""

from collections.abc import Mapping
from typing import Any

from mnc.core.bindings import ir
from mnc.passes.graph.decomposition.build import Handler, integer, real, value
from mnc.passes.graph.decomposition.reduction import mean
from mnc.passes.graph.matching import reshaped, shape_of


def inverse_deviation(variance: ir.Value, epsilon: float) -> ir.Value:
    """``1 / sqrt(variance + epsilon)``."""
    return value("reciprocal", value("sqrt", value("add", variance, epsilon)))


def layer_norm(op: Any) -> list[ir.Value]:
    """Two passes over the data: the variance is the mean of squared differences, which does not cancel."""
    data, scale, *bias = op.operation.operands
    axes = range(integer(op, "axis"), len(shape_of(data)))
    centre = mean(data, axes)
    centred = value("sub", data, centre)
    inverse = inverse_deviation(mean(value("mul", centred, centred), axes), real(op, "epsilon"))
    result = value("mul", value("mul", centred, inverse), scale)
    for addend in bias:
        result = value("add", result, addend)
    return [result, centre, inverse]


def batch_factors(op: Any) -> tuple[ir.Value, ir.Value]:
    """Factor and offset per channel, of shape (channels), with which batch_norm is ``data * factor + offset``."""
    _, scale, bias, centre, variance = op.operation.operands
    factor = value("mul", scale, inverse_deviation(variance, real(op, "epsilon")))
    return factor, value("sub", bias, value("mul", centre, factor))


def batch_norm(op: Any) -> list[ir.Value]:
    """``data * factor + offset`` with both computed once per channel."""
    data = op.operation.operands[0]
    column = [shape_of(data)[1], *[1] * (len(shape_of(data)) - 2)]
    factor, offset = (reshaped(v, column) for v in batch_factors(op))
    return [value("add", value("mul", data, factor), offset)]


HANDLERS: Mapping[str, Handler] = {"layer_norm": layer_norm, "batch_norm": batch_norm}
