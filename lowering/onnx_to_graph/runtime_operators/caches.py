"""Buffers of keys and values that operators of ONNX Runtime write new rows into."""

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body


def written(body: Body, cache: str, new: str, past: str, total: str = "") -> str:
    """A cache [batch, head, room, size] with the new rows [batch, head, place, size] behind the past, and zeros behind
    them.

    Args:
        past: how many rows of every batch stay, integers [batch or 1, 1]; a run may find them.
        total: a vector of one element that is known when compiling: the cache grows to it; without it stays as it is.
    """
    count, wide = body.extent(new, 2), cache
    if total:
        growth = body.op("Sub", body.op("Max", body.extent(cache, 2), total), body.extent(cache, 2))
        pads = body.op("Concat", body.integers(0, 0, 0, 0, 0, 0), growth, body.integers(0), axis=0)
        wide = body.op("Pad", cache, pads)
    source = body.op("Sub", body.numbered(body.extent(wide, 2)), past)
    is_old = body.op("Less", source, body.integers(0))
    is_new = body.op("And", body.op("Not", is_old), body.op("Less", source, count))
    inside = body.op("Where", is_new, source, body.integers(0))
    rows = body.op("GatherElements", new, body.op("Expand", _wide(body, inside), body.op("Shape", wide)), axis=2)
    kept = body.op("Where", _wide(body, is_old), wide, body.number(0, wide))
    return body.op("Where", _wide(body, is_new), rows, kept)


def _wide(body: Body, x: str) -> str:
    """[batch, place] to be broadcast over heads and elements."""
    return body.along("Unsqueeze", x, 1, 3)
