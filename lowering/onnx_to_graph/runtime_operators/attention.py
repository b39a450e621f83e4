"""Attention of ONNX Runtime: Attention, QAttention and MultiHeadAttention."""

import numpy as np
import onnx

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body

_NO_OPERAND = 99
_INT64 = onnx.TensorProto.INT64
_FULL_BUFFER = "give caches that end where the past ends, as without past_present_share_buffer"


def _heads(body: Body, x: str, count: int) -> str:
    """[batch, place, hidden] as [batch, head, place, size]."""
    return body.op("Transpose", body.reshape(x, 0, 0, count, -1), perm=[0, 2, 1, 3])


def attention(body: Body) -> None:
    """Attention of a sequence to itself, with the product that makes queries, keys and values."""
    x = body.op("MatMul", body.operand(0), body.operand(1))
    x = body.op("Add", x, body.operand(2)) if body.has(2) else x
    if body.has(6):
        raise body.refuse("a shared buffer of past and present is not supported", _FULL_BUFFER)
    _attend_itself(body, x, mask=3, past=4, bias=5)


def quantized_attention(body: Body) -> None:
    """As `attention`, of integers and quantized weights."""
    x, weights, bias, x_scale, weight_scale = (body.operand(i) for i in range(5))
    product = body.op("MatMulInteger", x, weights, body.operand(6), body.operand(7))
    floats = body.op("Mul", body.op("Cast", product, to=onnx.TensorProto.FLOAT), body.op("Mul", x_scale, weight_scale))
    _attend_itself(body, body.op("Add", floats, bias), mask=5, past=8, bias=_NO_OPERAND)


def _attend_itself(body: Body, x: str, mask: int, past: int, bias: int) -> None:
    """Give what the product `x` leads to, queries, keys and values side by side; the rest are numbers of operands."""
    if body.attribute("past_present_share_buffer", 0):
        raise body.refuse("a shared buffer of past and present is not supported", _FULL_BUFFER)
    if body.attribute("do_rotary", 0):
        raise body.refuse("do_rotary is not supported", "rotate queries and keys by RotaryEmbedding")
    sizes = list(body.attribute("qkv_hidden_sizes", []))
    query, key, value = (_heads(body, part, body.attribute("num_heads", 1)) for part in body.split(x, 2, 3, sizes))
    key, value, present = _with_past(body, key, value, past)
    body.give(_attended(body, query, key, value, mask, bias), present)


def _with_past(body: Body, key: str, value: str, operand: int) -> tuple[str, str, str]:
    """Keys and values behind those of the past, which are one tensor, and both as one."""
    if body.has(operand):
        past = [body.op("Gather", body.operand(operand), body.constant(i, np.int64), axis=0) for i in range(2)]
        key, value = (body.op("Concat", *both, axis=2) for both in zip(past, (key, value), strict=True))
    if not body.wants(1):
        return key, value, ""
    both = [body.along("Unsqueeze", part, 0) for part in (key, value)]
    return key, value, body.op("Concat", *both, axis=0)


def multi_head_attention(body: Body) -> None:
    """Attention of queries to keys and values, which may come with heads already."""
    if not body.has(1) or not body.has(2):
        raise body.refuse("packed queries, keys and values are not supported", "give three of them, one by one")
    if body.has(8) or body.has(9):
        raise body.refuse("a shared buffer of past and present is not supported", _FULL_BUFFER)
    parts = [body.operand(i) for i in range(3)]
    if body.has(3):
        own = body.split(body.operand(3), 0, 3)
        parts = [_with_bias(body, x, bias) for x, bias in zip(parts, own, strict=True)]
    query = _heads(body, parts[0], body.attribute("num_heads", 1))
    key, value = (_with_heads(body, x) for x in parts[1:])
    if body.has(6) and body.has(7):
        key, value = (body.op("Concat", body.operand(i), x, axis=2) for i, x in ((6, key), (7, value)))
    body.give(_attended(body, query, key, value, mask=4, bias=5), key, value)


def _with_bias(body: Body, x: str, bias: str) -> str:
    """With heads already, keys and values have theirs."""
    return body.with_rank(x, {3: lambda: body.op("Add", x, bias), 4: lambda: body.op("Identity", x)})


def _with_heads(body: Body, x: str) -> str:
    ways = {4: lambda: body.op("Identity", x), 3: lambda: _heads(body, x, body.attribute("num_heads", 1))}
    return body.with_rank(x, ways)


def _attended(body: Body, query: str, key: str, value: str, mask: int, bias: int) -> str:
    """Softmax of the scores, times the values: [batch, place, hidden]. `mask`, `bias`: numbers of operands."""
    scores = body.op("MatMul", query, body.op("Transpose", key, perm=[0, 1, 3, 2]))
    if scale := body.attribute("scale", 0.0):
        scores = body.op("Mul", scores, body.number(scale, scores))
    else:
        scores = body.op("Mul", scores, body.reciprocal_root(body.extent(query, 3), scores))
    low = body.number(body.attribute("mask_filter_value", -10000.0), scores)
    zero = body.number(0, scores)
    if body.has(bias):
        scores = body.op("Add", scores, body.operand(bias))
    if body.has(mask):
        scores = body.op("Add", scores, body.op("Where", _kept(body, body.operand(mask), query, key), zero, low))
    if body.attribute("unidirectional", 0):
        scores = body.op("Add", scores, body.op("Where", _before(body, query, key), zero, low))
    result = body.op("MatMul", body.op("Softmax", scores, axis=3), value)
    return body.reshape(body.op("Transpose", result, perm=[0, 2, 1, 3]), 0, 0, -1)


def _places(body: Body, x: str) -> str:
    return body.numbered(body.extent(x, 2))


def _kept(body: Body, mask: str, query: str, key: str) -> str:
    """Which keys are looked at, to be broadcast over [batch, head, query, key]: the mask has a number for each of
    them, of every batch or every query, or it is the lengths of the batches."""

    def positive(*axes: int) -> str:
        wide = body.along("Unsqueeze", mask, *axes) if axes else mask
        return body.op("Greater", body.op("Cast", wide, to=_INT64), body.constant(0, np.int64))

    def lengths() -> str:
        own = body.op("Reshape", body.op("Cast", mask, to=_INT64), body.extent(query, 0))
        return body.op("Less", _places(body, key), body.along("Unsqueeze", own, 1, 2, 3))

    return body.with_rank(mask, {1: lengths, 2: lambda: positive(1, 2), 3: lambda: positive(1), 4: positive})


def _before(body: Body, query: str, key: str) -> str:
    """Which keys are not behind the query; the last query is at the last key."""
    behind = body.op("Sub", body.extent(key, 2), body.extent(query, 2))
    own = body.op("Add", _places(body, query), behind)
    return body.op("Not", body.op("Less", body.along("Unsqueeze", own, 1), _places(body, key)))
