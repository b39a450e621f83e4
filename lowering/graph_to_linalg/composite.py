"""Softmax and normalisations, for modules in which they were not decomposed before."""

from mnc.core.bindings import ir, math
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.activation import exp
from mnc.lowering.graph_to_linalg.emit import element_of, pointwise, scalar, shape_of
from mnc.lowering.graph_to_linalg.reduction import combine, divided_by, each, safe_maximum, spread
from mnc.lowering.graph_to_linalg.shape import reshaped
from mnc.lowering.graph_to_linalg.source import Handler, Source


def _shifted(source: Source, operand: ir.Value) -> tuple[ir.Value, list[int]]:
    """operand - max along the axis, which keeps exp from overflowing."""
    element, axes = source.element(0), [source.int("axis")]
    top = safe_maximum(operand, axes, element)
    return spread(lambda a, b: s.subtract(a, b, element), operand, top, axes), axes


def lower_softmax(source: Source, operand: ir.Value) -> ir.Value:
    """exp(x - max) * (1 / sum)."""
    element = source.element(0)
    shifted, axes = _shifted(source, operand)
    powers = each(shifted, exp)
    inverse = each(combine("sum", powers, axes, element), lambda a: s.reciprocal(a, element))
    return spread(lambda a, b: s.multiply(a, b, element), powers, inverse, axes)


def lower_log_softmax(source: Source, operand: ir.Value) -> ir.Value:
    """x - max - log(sum of exp(x - max))."""
    element = source.element(0)
    shifted, axes = _shifted(source, operand)
    total = combine("sum", each(shifted, exp), axes, element)
    logarithm = each(total, lambda a: math.LogOp(a).result)
    return spread(lambda a, b: s.subtract(a, b, element), shifted, logarithm, axes)


def _inverse_deviation(variance: ir.Value, epsilon: float) -> ir.Value:
    element = element_of(variance)
    return each(
        variance,
        lambda a: s.reciprocal(math.SqrtOp(s.add(a, scalar(epsilon, element), element)).result, element),
    )


def lower_layer_norm(source: Source, data: ir.Value, scale: ir.Value, bias: ir.Value | None = None) -> list[ir.Value]:
    """Results: normalised data, mean, 1 / sqrt(variance + epsilon)."""
    element, shape = source.element(0), source.result_shape()
    axes = list(range(source.int("axis"), len(shape)))
    count = 1
    for axis in axes:
        count *= shape[axis]
    mean = divided_by(combine("sum", data, axes, element), count, element)
    centred = spread(lambda a, b: s.subtract(a, b, element), data, mean, axes)
    squares = each(centred, lambda a: s.multiply(a, a, element))
    variance = divided_by(combine("sum", squares, axes, element), count, element)
    inverse = _inverse_deviation(variance, source.real("epsilon"))
    normal = spread(lambda a, b: s.multiply(a, b, element), centred, inverse, axes)
    result = pointwise([normal, scale], shape, element, lambda a, b: s.multiply(a, b, element))
    if bias is not None:
        result = pointwise([result, bias], shape, element, lambda a, b: s.add(a, b, element))
    statistics = source.result_shape(1)
    return [result, reshaped(mean, statistics), reshaped(inverse, statistics)]


def lower_batch_norm(
    source: Source, data: ir.Value, scale: ir.Value, bias: ir.Value, mean: ir.Value, variance: ir.Value
) -> ir.Value:
    """data * factor + offset per channel, with factor and offset computed once per channel."""
    element, shape = source.element(0), source.result_shape()
    inverse = _inverse_deviation(variance, source.real("epsilon"))
    channel = shape_of(scale)
    factor = pointwise([scale, inverse], channel, element, lambda a, b: s.multiply(a, b, element))
    offset = pointwise(
        [bias, mean, factor], channel, element, lambda b, m, f: s.subtract(b, s.multiply(m, f, element), element)
    )
    column = [shape[1], *[1] * (len(shape) - 2)]
    return pointwise(
        [data, reshaped(factor, column), reshaped(offset, column)],
        shape,
        element,
        lambda x, f, o: s.add(s.multiply(x, f, element), o, element),
    )


HANDLERS: dict[str, Handler] = {
    "graph.softmax": lower_softmax,
    "graph.log_softmax": lower_log_softmax,
    "graph.layer_norm": lower_layer_norm,
    "graph.batch_norm": lower_batch_norm,
}
