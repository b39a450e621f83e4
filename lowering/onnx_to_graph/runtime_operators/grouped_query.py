"""GroupQueryAttention of ONNX Runtime: a step of a language model with a cache of keys and values."""

import onnx

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body
from mnc.lowering.onnx_to_graph.runtime_operators.caches import written
from mnc.lowering.onnx_to_graph.runtime_operators.rotary import turned

_FLAT = 2**31
"""More elements than any dimension has: the end of a Slice that takes all."""

_SINK = 11
"""The operand that has the scores of sinks; behind it are scales of quantized caches."""


def grouped_query_attention(body: Body) -> None:
    """Every sequence of the batch has a past of its own length, behind which its new keys and values are written."""
    _check(body)
    heads, groups = body.attribute("num_heads", 1), body.attribute("kv_num_heads", 1)
    query, key, value = _apart(body, heads, groups)
    past = _past_lengths(body, query)
    if body.attribute("do_rotary", 0):
        query, key = (_rotated(body, x, past) for x in (query, key))
    query, key, value = (body.op("Transpose", x, perm=[0, 2, 1, 3]) for x in (query, key, value))
    keys, values = (_cached(body, x, i, past) for x, i in ((key, 3), (value, 4)))
    body.give(_attended(body, query, keys, values, past), keys, values)


def _check(body: Body) -> None:
    if body.attribute("kv_cache_bit_width", 0) > 0 or any(body.operands()[_SINK + 1 :]):
        raise body.refuse("quantized caches are not supported", "export the model with caches of floats")
    for name in ("k_quant_type", "v_quant_type"):
        if body.attribute(name, "NONE") != "NONE":
            raise body.refuse(f"{name} is not supported", "export the model with caches of floats")


def _apart(body: Body, heads: int, groups: int) -> list[str]:
    """Queries, keys and values as [batch, place, head, size]; they may come as one tensor."""
    if body.has(1):
        return [body.reshape(body.operand(i), 0, 0, n, -1) for i, n in enumerate((heads, groups, groups))]
    packed = body.reshape(body.operand(0), 0, 0, heads + 2 * groups, -1)
    return body.split(packed, 2, 3, (heads, groups, groups))


def _total(body: Body) -> str:
    """How many places there are with the new ones, as a vector of one element: known when compiling."""
    return body.reshape(body.op("Cast", body.operand(6), to=onnx.TensorProto.INT64), 1)


def _past_lengths(body: Body, query: str) -> str:
    """The number of places before the new ones of every sequence, [batch, 1]; none before those of a prompt, which
    has as many places as there are at all, some of them padding."""
    count = body.extent(query, 1)
    ends = body.op("Cast", body.reshape(body.operand(5), -1, 1), to=onnx.TensorProto.INT64)
    before = body.op("Sub", body.op("Add", ends, body.integers(1)), count)
    is_prompt = body.op("Equal", count, _total(body))
    return body.op("Where", is_prompt, body.integers(0), before)


def _rotated(body: Body, x: str, past: str) -> str:
    """Turned by the angles of the tables; the rest of every head stays where rows of the tables are shorter."""
    places = body.operand(9) or body.op("Add", past, body.numbered(body.extent(x, 1)))
    cosine, sine = (body.along("Unsqueeze", body.op("Gather", body.operand(i), places), 2) for i in (7, 8))
    size = body.op("Mul", body.extent(body.operand(7), 1), body.integers(2))
    front = body.op("Slice", x, body.integers(0), size, body.integers(3))
    rest = body.op("Slice", x, size, body.integers(_FLAT), body.integers(3))
    front = turned(body, front, cosine, sine, bool(body.attribute("rotary_interleaved", 0)))
    return body.op("Concat", front, rest, axis=3)


def _cached(body: Body, new: str, operand: int, past: str) -> str:
    """The cache with new rows, which grows where the total needs it."""
    return written(body, body.operand(operand), new, past, _total(body)) if body.has(operand) else new


def _attended(body: Body, query: str, keys: str, values: str, past: str) -> str:
    """Softmax of the scores of each group of heads, times its values: [batch, place, hidden]."""
    groups = body.attribute("kv_num_heads", 1)
    own = body.op("Concat", body.extent(query, 0), body.integers(groups, body.attribute("num_heads", 1) // groups),
                  body.op("Slice", body.op("Shape", query), body.integers(2), body.integers(4)), axis=0)  # fmt: skip
    grouped = body.op("Reshape", query, own)
    keys, values = (body.along("Unsqueeze", x, 2) for x in (keys, values))
    scores = body.op("MatMul", grouped, body.op("Transpose", keys, perm=[0, 1, 2, 4, 3]))
    given = body.attribute("scale", 0.0)
    scale = body.number(given, scores) if given else body.reciprocal_root(body.extent(query, 3), scores)
    scores = body.op("Mul", scores, scale)
    if cap := body.attribute("softcap", 0.0):
        cap = body.number(cap, scores)
        scores = body.op("Mul", body.op("Tanh", body.op("Div", scores, cap)), cap)
    low = body.number(-10000.0, scores)
    kept = _kept(body, body.extent(query, 2), body.extent(keys, 3), past)
    scores = body.op("Where", body.along("Unsqueeze", kept, 1, 2), _biased(body, scores), low)
    result = body.op("MatMul", _shares(body, scores), values)
    flat = body.op("Reshape", result, body.op("Shape", query))
    return body.reshape(body.op("Transpose", flat, perm=[0, 2, 1, 3]), 0, 0, -1)


def _shares(body: Body, scores: str) -> str:
    """Softmax of [batch, group, head, place, key], where a sink that has a score, and no value, may take a share."""
    groups = body.attribute("kv_num_heads", 1)
    if body.has(_SINK):
        sink = body.reshape(body.like(body.operand(_SINK), scores), 1, groups, -1, 1, 1)
    elif body.attribute("smooth_softmax", 0) > 0:
        sink = body.number(0, scores)
    else:
        return body.op("Softmax", scores, axis=4)
    column = body.op("Slice", body.op("Shape", scores), body.integers(0), body.integers(4))
    column = body.op("Expand", sink, body.op("Concat", column, body.integers(1), axis=0))
    shares = body.op("Softmax", body.op("Concat", scores, column, axis=4), axis=4)
    return body.op("Slice", shares, body.integers(0), body.extent(scores, 4), body.integers(4))


def _biased(body: Body, scores: str) -> str:
    """With the bias of [batch, head, place, key], of which batches and heads may be one for all."""
    if not body.has(10):
        return scores
    bias = body.operand(10)
    shape = body.op("Shape", scores)
    flat = body.op("Concat", body.op("Gather", shape, body.integers(0)), body.integers(body.attribute("num_heads", 1)),
                   body.op("Slice", shape, body.integers(3), body.integers(5)), axis=0)  # fmt: skip
    return body.op("Reshape", body.op("Add", body.op("Reshape", scores, flat), bias), shape)


def _kept(body: Body, places: str, keys: str, past: str) -> str:
    """Which keys [batch, place, key] are not behind a place, nor too far before it."""
    own = body.along("Unsqueeze", body.op("Add", past, body.numbered(places)), 2)
    apart = body.op("Sub", own, body.numbered(keys))
    kept = body.op("Not", body.op("Less", apart, body.integers(0)))
    window = body.attribute("local_window_size", -1)
    return kept if window <= 0 else body.op("And", kept, body.op("Less", apart, body.integers(window)))
