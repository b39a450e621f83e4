"""RotaryEmbedding of ONNX Runtime."""

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body


def rotary_embedding(body: Body) -> None:
    """Pairs of elements of every head are turned by the angle of their place, whose cosine and sine are in tables."""
    if body.attribute("scale", 1.0) != 1.0 or body.attribute("is_packed_batching", 0):
        raise body.refuse("scale and is_packed_batching are not supported", "scale the tables, give batches")
    x, positions = body.operand(0), body.operand(1)
    ways = {4: lambda: _with_tables(body, body.op("Transpose", x, perm=[0, 2, 1, 3]), positions),
            3: lambda: _with_tables(body, _apart(body, x), positions)}  # fmt: skip
    result = body.with_rank(x, ways)
    back = {4: lambda: body.op("Transpose", result, perm=[0, 2, 1, 3]), 3: lambda: body.reshape(result, 0, 0, -1)}
    body.give(body.with_rank(x, back))


def _apart(body: Body, x: str) -> str:
    """[batch, place, hidden] as [batch, place, head, size]; without their number, heads have twice the length of a
    row of the tables."""
    if count := body.attribute("num_heads", 0):
        return body.reshape(x, 0, 0, count, -1)
    size = body.op("Mul", body.extent(body.operand(2), 1), body.integers(2))
    return body.op("Reshape", x, body.op("Concat", body.integers(0, 0, -1), size, axis=0))


def _with_tables(body: Body, x: str, positions: str) -> str:
    """The rotation of [batch, place, head, size]; one number as positions is that of the first place."""

    def counted() -> str:
        return body.along("Unsqueeze", body.op("Add", body.numbered(body.extent(x, 1)), positions), 0)

    places = body.with_rank(positions, {1: counted, 2: lambda: body.op("Identity", positions)})
    cosine, sine = (body.along("Unsqueeze", body.op("Gather", body.operand(i), places), 2) for i in (2, 3))
    size = body.attribute("rotary_embedding_dim", 0)
    rest = [] if not size else [body.op("Slice", x, body.integers(size), body.integers(2**31), body.integers(3))]
    turning = x if not size else body.op("Slice", x, body.integers(0), body.integers(size), body.integers(3))
    front = turned(body, turning, cosine, sine, bool(body.attribute("interleaved", 0)))
    return body.op("Concat", front, *rest, axis=3) if rest else front


def turned(body: Body, x: str, cosine: str, sine: str, paired: bool) -> str:
    """The rotation of whole rows [batch, place, head, size]; pairs stand side by side, or in two halves."""
    shape = body.op("Shape", x)
    if paired:
        wide = body.reshape(x, 0, 0, 0, -1, 2)
        a, b = (body.along("Squeeze", part, 4) for part in body.split(wide, 4, 2))
    else:
        a, b = body.split(x, 3, 2)
    first = body.op("Sub", body.op("Mul", a, cosine), body.op("Mul", b, sine))
    second = body.op("Add", body.op("Mul", a, sine), body.op("Mul", b, cosine))
    if not paired:
        return body.op("Concat", first, second, axis=3)
    both = body.op("Concat", *(body.along("Unsqueeze", part, 4) for part in (first, second)), axis=4)
    return body.op("Reshape", both, shape)
