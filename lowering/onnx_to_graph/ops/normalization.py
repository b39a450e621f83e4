"""Normalisations."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.contraction import PRECISION
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of


def batch_norm(node: Node) -> Any:
    """BatchNormalization: with the given statistics, or in training mode with those of the batch."""
    if not node.attribute("spatial", 1):
        raise node.error("spatial=0 is not supported", hint="use one mean and variance per channel")
    x = node.operand(0)
    operands = [cast(value, element_type_of(x)) for value in node.operands()]
    epsilon = float(node.attribute("epsilon", 1e-5))
    if node.attribute("training_mode", 0):
        return _train_batch_norm(node, operands, epsilon)
    if any(node.wants(i) for i in range(1, 5)):
        hint = "convert the model to opset 15 and set training_mode, or use only the first output"
        raise node.error("batch statistics without training_mode are not supported", hint=hint)
    return graph.BatchNorm.build(*operands, epsilon=epsilon).result


def _train_batch_norm(node: Node, operands: list[Any], epsilon: float) -> list[Any]:
    """Normalised by the mean and variance of the batch, and the running mean and variance moved towards them."""
    x, scale, bias, mean, variance = operands
    rank, types = len(shape_of(x)), [element_type_of(node.operand(i)) for i in (3, 4)]
    axes = [i for i in range(rank) if i != 1]
    now = graph.Reduce.build(x, kind="mean", axes=axes, keepdims=True).result
    centred = graph.Sub.build(x, now).result
    spread = graph.Reduce.build(graph.Mul.build(centred, centred), kind="mean", axes=axes, keepdims=True).result
    channels = shape_of(mean)
    statistics = [reshape(now, channels), reshape(spread, channels)]
    y = graph.BatchNorm.build(x, scale, bias, *statistics, epsilon=epsilon).result
    momentum = float(node.attribute("momentum", 0.9))
    running = [
        graph.Add.build(
            graph.Mul.build(old, constant(momentum, like=old)), graph.Mul.build(new, constant(1 - momentum, like=new))
        ).result
        for old, new in zip((mean, variance), statistics, strict=True)
    ]
    return [y, *(cast(value, kind) for value, kind in zip(running, types, strict=True))]


def layer_norm(node: Node) -> Any:
    """LayerNormalization with its optional statistics."""
    operands = node.operands()
    axis = node.axis(node.attribute("axis", -1), len(shape_of(operands[0])))
    operation = graph.LayerNorm.build(*operands, axis=axis, epsilon=float(node.attribute("epsilon", 1e-5)))
    return list(operation.operation.results)


def _normalize(x: Any, axes: list[int], epsilon: float, center: bool) -> Any:
    """``(x - mean) / sqrt(mean((x - mean)**2) + epsilon)``; the mean counts as 0 unless `center`."""
    if center:
        x = graph.Sub.build(x, graph.Reduce.build(x, kind="mean", axes=axes, keepdims=True)).result
    square = graph.Mul.build(x, x).result
    variance = graph.Reduce.build(square, kind="mean", axes=axes, keepdims=True).result
    deviation = graph.Sqrt.build(graph.Add.build(variance, constant(epsilon, like=variance))).result
    return graph.Mul.build(x, graph.Reciprocal.build(deviation)).result


def rms_norm(node: Node) -> Any:
    """RMSNormalization over the dimensions from the axis on."""
    x, scale = node.operand(0), node.operand(1)
    rank = len(shape_of(x))
    axes = list(range(node.axis(node.attribute("axis", -1), rank), rank))
    scaled = _normalize(x, axes, float(node.attribute("epsilon", 1e-5)), center=False)
    return cast(graph.Mul.build(scaled, cast(scale, element_type_of(x))).result, element_type_of(scale))


def instance_norm(node: Node) -> Any:
    """InstanceNormalization: each channel of each sample by itself."""
    x, scale, bias = node.operands()
    rank = len(shape_of(x))
    per_channel = [shape_of(x)[1], *[1] * (rank - 2)]
    y = _normalize(x, list(range(2, rank)), float(node.attribute("epsilon", 1e-5)), center=True)
    return graph.Add.build(graph.Mul.build(y, reshape(scale, per_channel)), reshape(bias, per_channel)).result


def group_norm(node: Node) -> Any:
    """GroupNormalization; scale and bias are per group in version 18, per channel since."""
    x, scale, bias = node.operands()
    shape, groups = shape_of(x), node.attribute("num_groups")
    rank = len(shape)
    split = reshape(x, [shape[0], groups, shape[1] // groups, *shape[2:]])
    y = _normalize(split, list(range(2, rank + 1)), float(node.attribute("epsilon", 1e-5)), center=True)
    if node.version < 21:
        form = [groups, *[1] * (rank - 1)]
    else:
        y, form = reshape(y, shape), [shape[1], *[1] * (rank - 2)]
    out = graph.Add.build(graph.Mul.build(y, reshape(scale, form)), reshape(bias, form)).result
    return reshape(out, shape)


def lrn(node: Node) -> Any:
    """LRN: divide by a power of the sum of squares over neighbouring channels.

    The sum is a product with a matrix of a band, a convolution of extent 1: neighbours among channels lie in other PEs,
    which only a contraction brings together cheaply. It is done in single precision, since the squares span many
    orders of magnitude.
    """
    x, size = node.operand(0), node.attribute("size")
    shape = shape_of(x)
    spatial = shape[2:] or [1]
    alpha, beta, bias = (float(node.attribute(n, d)) for n, d in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    distance = np.arange(shape[1]) - np.arange(shape[1])[:, None]  # of input channels (columns) from output channels
    low = (size - 1) // 2
    band = np.where((distance >= -low) & (distance <= size - 1 - low), alpha / size, 0.0)
    square = reshape(graph.Mul.build(x, x).result, [*shape[:2], *spatial])
    ones = [1] * len(spatial)
    product = graph.Conv.build(
        square, constant(band.reshape(*band.shape, *ones), like=x), constant(np.full(shape[1], bias), like=x),
        strides=ones, pads=[0, 0] * len(spatial), dilations=ones, group=1,
    )  # fmt: skip
    product.operation.attributes[PRECISION] = ir.StringAttr.get("single")
    base = reshape(product.result, shape)
    return graph.Mul.build(x, graph.Pow.build(base, constant(-beta, like=base)).result).result


def lp_norm(node: Node) -> Any:
    """LpNormalization of order 1 or 2 along one axis; a zero vector stays zero."""
    x = node.operand(0)
    axis = node.axis(node.attribute("axis", -1), len(shape_of(x)))
    norm = graph.Reduce.build(x, kind=f"l{node.attribute('p', 2)}", axes=[axis], keepdims=True).result
    zero = graph.Equal.build(norm, constant(0, like=norm)).result
    return graph.Div.build(x, graph.Where.build(zero, constant(1, like=norm), norm)).result
