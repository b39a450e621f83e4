"""Normalizations of ONNX Runtime, with the sums before them."""

from typing import Any

import onnx

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body

_LAYER, _RMS = 17, 23
"""Operator sets since which LayerNormalization and RMSNormalization are operators."""


_EPSILON, _AFTER_SUM = 1e-5, 1e-12
"""Defaults of `epsilon`, of a normalization alone and behind a sum."""


def _layer(body: Body, x: str, scale: str, bias: str, default: float = _AFTER_SUM) -> str:
    epsilon = body.attribute("epsilon", default)
    if body.opset >= _LAYER:
        return body.op("LayerNormalization", x, scale, *([bias] if bias else []), epsilon=epsilon)
    centred = body.op("Sub", x, body.along("ReduceMean", x, -1))
    scaled = _by_deviation(body, centred, epsilon)
    scaled = body.op("Mul", scaled, scale)
    return body.op("Add", scaled, bias) if bias else scaled


def _by_deviation(body: Body, x: str, epsilon: float) -> str:
    variance = body.along("ReduceMean", body.op("Mul", x, x), -1)
    return body.op("Div", x, body.op("Sqrt", body.op("Add", variance, body.number(epsilon, x))))


def _root_mean_square(body: Body, x: str, scale: str, default: float) -> str:
    epsilon = body.attribute("epsilon", default)
    if body.opset >= _RMS:
        return body.op("RMSNormalization", x, scale, epsilon=epsilon)
    return body.op("Mul", _by_deviation(body, x, epsilon), scale)


def _check_axis(body: Body) -> None:
    if body.attribute("axis", -1) != -1:
        raise body.refuse("only axis -1 is supported", "let ONNX Runtime optimize the model less")


def early_layer(body: Body) -> None:
    """LayerNormalization in operator sets that do not have it yet."""
    _check_axis(body)
    body.give(_layer(body, body.operand(0), body.operand(1), body.operand(2), _EPSILON))


def simplified_layer(body: Body) -> None:
    """Division by the root of the mean square, times the scale."""
    _check_axis(body)
    body.give(_root_mean_square(body, body.operand(0), body.operand(1), _EPSILON))


def _sum(body: Body, bias: int) -> str:
    total = body.op("Add", body.operand(0), body.operand(1))
    return body.op("Add", total, body.operand(bias)) if body.has(bias) else total


def skip_layer(body: Body) -> None:
    """Layer normalization of a sum, which is a result, too."""
    total = _sum(body, 4)
    body.give(_layer(body, total, body.operand(2), body.operand(3)), "", "", total)


def skip_simplified_layer(body: Body) -> None:
    """As `skip_layer`, by the root of the mean square."""
    total = _sum(body, 3)
    body.give(_root_mean_square(body, total, body.operand(2), _AFTER_SUM), "", "", total)


def embed_layer(body: Body) -> None:
    """Layer normalization of the sum of the embeddings of words, positions and segments; and the lengths that the mask
    says."""
    ids, segments, *tables, mask, positions = (body.operand(i) for i in range(9))
    _embed(body, ids, segments, tables, mask, positions)


def quantized_embed_layer(body: Body) -> None:
    """As `embed_layer`, with tables of integers, whose scales and zero points come behind the mask."""
    tables = [
        body.op("DequantizeLinear", *(body.operand(i) for i in (table, table + 6, table + 11) if body.has(i)))
        if body.has(table)
        else ""
        for table in range(2, 7)
    ]
    _embed(body, body.operand(0), body.operand(1), tables, body.operand(7), "")


def _embed(body: Body, ids: str, segments: str, tables: list[str], mask: str, positions: str) -> None:
    words, places, kinds, scale, bias = tables
    total = body.op("Gather", words, ids)
    if not positions:
        positions = body.numbered(body.extent(ids, 1))
    total = body.op("Add", total, body.op("Gather", places, positions))
    if segments and kinds:
        total = body.op("Add", total, body.op("Gather", kinds, segments))
    lengths = _lengths(body, ids, mask) if body.wants(1) else ""
    body.give(_layer(body, total, scale, bias), lengths, total)


def _lengths(body: Body, ids: str, mask: str) -> str:
    if mask:
        ones = body.op("Equal", mask, body.constant(1, "int32"))
        return body.along("ReduceSum", body.op("Cast", ones, to=onnx.TensorProto.INT32), 1, keepdims=0)
    zero = onnx.helper.make_tensor("zero", onnx.TensorProto.INT32, [1], [0])
    return body.op("ConstantOfShape", body.extent(ids, 0), value=zero)


def group(body: Body) -> None:
    """Group normalization, by default of channels that come last, with an optional SiLU."""
    x, last = body.operand(0), body.attribute("channels_last", 1)
    body.give(_grouped(body, x, body.operand(1), body.operand(2), last))


def skip_group(body: Body) -> None:
    """As `group`, of a sum, which is a result, too."""
    total = _sum(body, 4)
    body.give(_grouped(body, total, body.operand(1), body.operand(2), body.attribute("channels_last", 1)), total)


def _grouped(body: Body, given: str, scale: str, bias: str, last: Any) -> str:
    x = body.op("Transpose", given, perm=[0, 3, 1, 2]) if last else given
    groups = body.attribute("groups", 1)
    one, zero = (body.op("CastLike", body.constant([value] * groups, "float32"), x) for value in (1, 0))
    flat = body.op("InstanceNormalization", body.reshape(x, 0, groups, -1), one, zero,
                   epsilon=body.attribute("epsilon", _EPSILON))  # fmt: skip
    y = body.op("Reshape", flat, body.op("Shape", x))
    scale, bias = (body.op("CastLike", body.reshape(value, -1, 1, 1), x) for value in (scale, bias))
    y = body.op("Add", body.op("Mul", y, scale), bias)
    y = body.op("Mul", y, body.op("Sigmoid", y)) if body.attribute("activation", 0) else y
    return body.op("Transpose", y, perm=[0, 2, 3, 1]) if last else y
