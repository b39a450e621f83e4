"""Attention of ONNX Runtime: Attention, QAttention and MultiHeadAttention."""

from collections.abc import Sequence

import numpy as np
import onnx

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body
from mnc.lowering.onnx_to_graph.runtime_operators.caches import written

_NO_OPERAND = 99
_INT64 = onnx.TensorProto.INT64
_FLAT = 2**31
"""More elements than any dimension has: the end of a Slice that takes all."""


def _heads(body: Body, x: str, count: int) -> str:
    """[batch, place, hidden] as [batch, head, place, size]."""
    return body.op("Transpose", body.reshape(x, 0, 0, count, -1), perm=[0, 2, 1, 3])


def attention(body: Body) -> None:
    """Attention of a sequence to itself, with the product that makes queries, keys and values."""
    x = body.op("MatMul", body.operand(0), body.operand(1))
    x = body.op("Add", x, body.operand(2)) if body.has(2) else x
    _attend_itself(body, x, mask=3, past=4, bias=5, length=6)


def quantized_attention(body: Body) -> None:
    """As `attention`, of integers and quantized weights."""
    x, weights, bias, x_scale, weight_scale = (body.operand(i) for i in range(5))
    product = body.op("MatMulInteger", x, weights, body.operand(6), body.operand(7))
    floats = body.op("Mul", body.op("Cast", product, to=onnx.TensorProto.FLOAT), body.op("Mul", x_scale, weight_scale))
    _attend_itself(body, body.op("Add", floats, bias), mask=5, past=8, bias=_NO_OPERAND)


def _attend_itself(body: Body, x: str, mask: int, past: int, bias: int, length: int = _NO_OPERAND) -> None:
    """Give what the product `x` leads to, queries, keys and values side by side; the rest are numbers of operands."""
    if body.attribute("past_present_share_buffer", 0) and not body.has(length):
        hint = "give caches that end where the past ends, as without past_present_share_buffer"
        raise body.refuse("a shared buffer of past and present without a length of the past is not supported", hint)
    if body.attribute("do_rotary", 0):
        raise body.refuse("do_rotary is not supported", "rotate queries and keys by RotaryEmbedding")
    sizes = list(body.attribute("qkv_hidden_sizes", []))
    query, key, value = (_heads(body, part, body.attribute("num_heads", 1)) for part in body.split(x, 2, 3, sizes))
    pasts = ["", ""]
    if body.has(past):
        pasts = [body.op("Gather", body.operand(past), body.constant(i, np.int64), axis=0) for i in range(2)]
    keys, values, before = _after(body, pasts, (key, value), length)
    present = ""
    if body.wants(1):
        present = body.op("Concat", *(body.along("Unsqueeze", part, 0) for part in (keys, values)), axis=0)
    body.give(_attended(body, query, keys, values, before, mask, bias), present)


def _after(body: Body, pasts: Sequence[str], new: Sequence[str], length: int) -> tuple[str, str, str]:
    """Keys and values [batch, head, key, size] behind those of the past, and how many keys are before the first query:
    a vector of one element. With the operand `length` the past is a buffer that has room for the new ones."""
    if body.has(length) and all(pasts):
        before = body.reshape(body.op("Cast", body.operand(length), to=_INT64), 1)
        rows = body.reshape(before, 1, 1)
        keys, values = (written(body, past, x, rows) for past, x in zip(pasts, new, strict=True))
        return keys, values, before
    if all(pasts):
        new = [body.op("Concat", past, x, axis=2) for past, x in zip(pasts, new, strict=True)]
    return new[0], new[1], ""


def multi_head_attention(body: Body) -> None:
    """Attention of queries to keys and values, which may come with heads already, or in one tensor."""
    if body.has(9):
        raise body.refuse("cache_indirection is not supported", "reorder the caches where the beams are searched")
    parts = _apart(body)
    if body.has(3):
        parts = [_with_bias(body, x, bias) for x, bias in zip(parts, _biases(body, parts[0]), strict=True)]
    query = _heads(body, parts[0], body.attribute("num_heads", 1))
    key, value = (_with_heads(body, x) for x in parts[1:])
    keys, values, before = _after(body, (body.operand(6), body.operand(7)), (key, value), 8)
    body.give(_attended(body, query, keys, values, before, mask=4, bias=5), keys, values)


def _apart(body: Body) -> list[str]:
    """Queries, keys and values; those of one tensor stand side by side, [batch, place, head, 2 or 3, size]."""
    first = 0 if not body.has(1) else 1 if not body.has(2) else 3
    if first == 3:
        return [body.operand(i) for i in range(3)]
    packed = body.split(body.operand(first), 3, 3 - first)
    return [*(body.operand(i) for i in range(first)), *(body.reshape(x, 0, 0, -1) for x in packed)]


def _biases(body: Body, query: str) -> list[str]:
    """Those of queries and keys have a number for every element of a query; the rest are of values."""
    size = body.extent(query, 2)
    twice = body.op("Mul", size, body.integers(2))
    bounds = [(body.integers(0), size), (size, twice), (twice, body.integers(_FLAT))]
    return [body.op("Slice", body.operand(3), first, last) for first, last in bounds]


def _with_bias(body: Body, x: str, bias: str) -> str:
    """With heads already, keys and values have theirs."""
    return body.with_rank(x, {3: lambda: body.op("Add", x, bias), 4: lambda: body.op("Identity", x)})


def _with_heads(body: Body, x: str) -> str:
    ways = {4: lambda: body.op("Identity", x), 3: lambda: _heads(body, x, body.attribute("num_heads", 1))}
    return body.with_rank(x, ways)


def _attended(body: Body, query: str, key: str, value: str, before: str, mask: int, bias: int) -> str:
    """Softmax of the scores, times the values: [batch, place, hidden]. `mask`, `bias`: numbers of operands. `before`:
    how many keys are before the first query; without it the last key is of the last query."""
    scores = body.op("MatMul", query, body.op("Transpose", key, perm=[0, 1, 3, 2]))
    if scale := body.attribute("scale", 0.0):
        scores = body.op("Mul", scores, body.number(scale, scores))
    else:
        scores = body.op("Mul", scores, body.reciprocal_root(body.extent(query, 3), scores))
    low = body.number(body.attribute("mask_filter_value", -10000.0), scores)
    zero = body.number(0, scores)
    if body.has(bias):
        given = body.operand(bias)
        scores = body.op("Add", scores, _fitting(body, given, body.extent(key, 2), body.number(0, given)))
    if body.has(mask):
        scores = body.op("Add", scores, body.op("Where", _kept(body, body.operand(mask), query, key), zero, low))
    if body.attribute("unidirectional", 0):
        scores = body.op("Add", scores, body.op("Where", _before(body, query, key, before), zero, low))
    elif before:
        end = body.op("Add", before, body.extent(query, 2))
        scores = body.op("Add", scores, body.op("Where", body.op("Less", _places(body, key), end), zero, low))
    result = body.op("MatMul", body.op("Softmax", scores, axis=3), value)
    return body.reshape(body.op("Transpose", result, perm=[0, 2, 1, 3]), 0, 0, -1)


def _places(body: Body, x: str) -> str:
    return body.numbered(body.extent(x, 2))


def _fitting(body: Body, x: str, count: str, filler: str) -> str:
    """With `count` elements in rows: masks may be shorter than a buffer, or have room for more; behind them comes the
    filler. One element for all stays."""
    own = body.op("Gather", body.op("Shape", x), body.integers(-1))

    def cut() -> str:
        part = body.op("Slice", x, body.integers(0), count, body.integers(-1))
        missing = body.op("Sub", count, body.op("Gather", body.op("Shape", part), body.integers(-1)))
        front = body.op("Slice", body.op("Shape", x), body.integers(0), body.integers(-1))
        rest = body.op("Expand", filler, body.op("Concat", front, missing, axis=0))
        return body.op("Concat", part, rest, axis=-1)

    fits = body.op("Or", body.op("Equal", own, count), body.op("Equal", own, body.integers(1)))
    return body.either(body.along("Squeeze", fits, 0), lambda: body.op("Identity", x), cut)


def _kept(body: Body, mask: str, query: str, key: str) -> str:
    """Which keys are looked at, to be broadcast over [batch, head, query, key]: the mask has a number for each of
    them, of every batch or every query, or it is where the batches end, and perhaps where they begin."""
    count = body.extent(key, 2)

    def positive(*axes: int, x: str = mask) -> str:
        x = _fitting(body, body.op("Cast", x, to=_INT64), count, body.constant(0, np.int64))
        wide = body.along("Unsqueeze", x, *axes) if axes else x
        return body.op("Greater", wide, body.constant(0, np.int64))

    def own_rows() -> str:
        first = body.op("Sub", count, body.extent(query, 2))
        return positive(x=body.op("Slice", mask, first, count, body.integers(2)))

    ways = {1: lambda: _inside(body, mask, query, key), 2: lambda: positive(1, 2), 3: lambda: positive(1), 4: own_rows}
    return body.with_rank(mask, ways)


def _inside(body: Body, mask: str, query: str, key: str) -> str:
    """Which keys are before the ends of their batches, the first numbers of the mask; if it has two of every batch,
    the others are where the batches begin."""
    whole, batch = body.op("Cast", mask, to=_INT64), body.extent(query, 0)
    twice = body.op("Mul", batch, body.integers(2))

    def part(first: str, last: str) -> str:
        return body.along("Unsqueeze", body.op("Slice", whole, first, last), 1, 2, 3)

    def before_ends() -> str:
        return body.op("Less", _places(body, key), part(body.integers(0), batch))

    def behind_starts() -> str:
        return body.op("And", before_ends(), body.op("Not", body.op("Less", _places(body, key), part(batch, twice))))

    has_starts = body.op("Equal", body.op("Size", mask), body.along("Squeeze", twice, 0))
    return body.either(has_starts, behind_starts, before_ends)


def _before(body: Body, query: str, key: str, before: str) -> str:
    """Which keys are not behind the query."""
    behind = before or body.op("Sub", body.extent(key, 2), body.extent(query, 2))
    own = body.op("Add", _places(body, query), behind)
    return body.op("Not", body.op("Less", body.along("Unsqueeze", own, 1), _places(body, key)))
