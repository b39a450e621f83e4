"""Operators that move elements, take parts, and make constants."""

from typing import Any

import numpy as np
import torch
from torch import fx

from mnc.torch.call import Call

_aten = torch.ops.aten


def _permutation(node: fx.Node, rank: int) -> list[int] | None:
    """Permutation that a call is, or None if it is something else."""
    target = node.target
    name = target._schema.name if isinstance(target, torch._ops.OpOverload) else ""
    if rank == 0:  # a scalar takes any dimension
        return [] if name in ("aten::t", "aten::transpose", "aten::permute") else None
    if name == "aten::t":
        return list(range(rank))[::-1]
    if name == "aten::transpose":
        order = list(range(rank))
        first, second = (int(value) % rank for value in node.args[1:3])  # pyright: ignore[reportArgumentType]
        order[first], order[second] = order[second], order[first]
        return order
    if name == "aten::permute":
        return [int(value) % rank for value in node.args[1]]  # pyright: ignore
    return None


def permutation_of(c: Call, node: fx.Node) -> tuple[fx.Node, list[int]]:
    """Source of a chain of transpositions that ends in `node`, and the permutation of all of them."""
    rank = len(c.shape_of(node))
    total = list(range(rank))
    while (order := _permutation(node, rank)) is not None:
        total = [order[axis] for axis in total]
        node = node.args[0]  # pyright: ignore[reportAssignmentType]
    return node, total


def _transpose(c: Call) -> str:
    source, order = permutation_of(c, c.node)
    value = c.value(source)
    return value if order == sorted(order) else c.op("Transpose", value, perm=order)


def _to_own_shape(c: Call) -> str:
    """Views, squeezes: the elements in the same order, the shape from the trace."""
    value = c.operand("self")
    return value if c.shape == c.shape_of("self") else c.reshape(value, c.shape)


def _expand(c: Call) -> str:
    value = c.operand("self")
    return value if c.shape == c.shape_of("self") else c.op("Expand", value, c.writer.ints(c.shape))


def _cat(c: Call) -> str:
    used = [part for part in c["tensors"] if c.shape_of(part) != [0]]  # torch skips empty vectors
    values = [c.value(part, c.dtype) for part in used]
    return values[0] if len(values) == 1 else c.op("Concat", *values, axis=c.axis(c["dim"], len(c.shape)))


def _range(c: Call, value: str, axis: int, start: int, end: int, step: int = 1) -> str:
    numbers = (c.writer.ints([number]) for number in (start, end, axis, step))
    return c.op("Slice", value, *numbers)


def _slice(c: Call) -> str:
    shape = c.shape_of("self")
    axis = c.axis(c["dim"], len(shape))
    start, end, _ = slice(c["start"], c["end"]).indices(shape[axis])
    value = c.operand("self")
    if (start, end, c["step"]) == (0, shape[axis], 1):
        return value
    return _range(c, value, axis, start, end, c["step"])


def _select(c: Call) -> str:
    shape = c.shape_of("self")
    axis = c.axis(c["dim"], len(shape))
    index = c["index"] % shape[axis]
    return c.reshape(_range(c, c.operand("self"), axis, index, index + 1), c.shape)


def _split(c: Call) -> list[str | None]:
    axis = c.axis(c["dim"], len(c.shape_of("self")))
    sizes = [value.shape[axis] for value in c.node.meta["val"]]
    ends = np.cumsum(sizes)
    value = c.operand("self")
    return [_range(c, value, axis, int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True)]


def _pad(c: Call) -> str:
    rank, amounts = len(c.shape), list(c["pad"])
    low, high = [0] * rank, [0] * rank
    for i in range(len(amounts) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = amounts[2 * i], amounts[2 * i + 1]
    value, extents = c.operand("self"), c.shape_of("self")
    for axis in range(rank):  # a negative amount cuts
        if low[axis] < 0 or high[axis] < 0:
            value = _range(c, value, axis, max(-low[axis], 0), extents[axis] - max(-high[axis], 0))
    amounts = [max(amount, 0) for amount in (*low, *high)]
    return c.op("Pad", value, c.writer.ints(amounts), c.value(c["value"], c.dtype)) if any(amounts) else value


def _tile(c: Call) -> str:
    repeats = list(c["repeats"])
    shape = [1] * (len(repeats) - len(c.shape_of("self"))) + c.shape_of("self")
    value = c.operand("self")
    value = value if shape == c.shape_of("self") else c.reshape(value, shape)
    return c.op("Tile", value, c.writer.ints(repeats))


def _flip(c: Call) -> str:
    value, rank = c.operand("self"), len(c.shape)
    for dim in c["dims"]:
        value = _range(c, value, c.axis(dim, rank), -1, -(2**31), -1)
    return value


def _constant(number: Any) -> Any:
    """Handler of operators whose result is one number everywhere; `number` names it or the argument that holds it."""

    def handler(c: Call) -> str:
        value = c[number] if isinstance(number, str) else number
        if isinstance(value, fx.Node):
            return c.op("Expand", c.value(value, c.dtype), c.writer.ints(c.shape))
        return c.writer.constant(np.full(c.shape, value), c.dtype)

    return handler


def _arange(c: Call) -> str:
    start = c["start"] if "start" in c.names else 0
    step = c["step"] if "step" in c.names else 1
    return c.writer.constant(start + step * np.arange(c.shape[0]), c.dtype)


def _triangle(c: Call) -> str:
    make = torch.tril_indices if c.node.target is _aten.tril_indices.default else torch.triu_indices
    return c.writer.constant(make(c["row"], c["col"], c["offset"]).numpy(), c.dtype)


def _sorted(c: Call) -> list[str | None]:
    """`sort` and `topk`: values, and where they were; of equal ones the first comes first."""
    rank = len(c.shape_of("self"))
    if not rank:
        raise c.error("a number cannot be sorted", "give a tensor of one dimension")
    axis = c.axis(c["dim"], rank)
    count = c["k"] if "k" in c.names else c.shape_of("self")[axis]
    largest = c["largest"] if "k" in c.names else c["descending"]
    inputs = c.operand("self"), c.writer.ints([count])
    return list(c.writer.ops("TopK", inputs, 2, axis=axis, largest=int(largest), sorted=1))


def _embedding(c: Call) -> str:
    return c.op("Gather", c.operand("weight"), c.operand("indices"), axis=0)


def _index_select(c: Call) -> str:
    return c.op("Gather", c.operand("self"), c.operand("index"), axis=c.axis(c["dim"], len(c.shape)))


def _gather(c: Call) -> str:
    return c.op("GatherElements", c.operand("self"), c.operand("index"), axis=c.axis(c["dim"], len(c.shape)))


def _index(c: Call) -> str:
    """Indexing with one integer tensor; the other dimensions are taken whole."""
    given = [(axis, index) for axis, index in enumerate(c["indices"]) if index is not None]
    if len(given) != 1 or given[0][1].meta["val"].dtype == torch.bool:
        raise c.error("indexing with masks or with several tensors is not supported", "use torch.gather or torch.where")
    axis, index = given[0]
    return c.op("Gather", c.operand("self"), c.value(index), axis=axis)


_SAMPLING, _OUTSIDE = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
"""Names in ONNX of the numbers that torch gives to modes and paddings."""


def _grid_sample(c: Call) -> str:
    mode, outside = _SAMPLING[c["interpolation_mode"]], _OUTSIDE[c["padding_mode"]]
    attributes = {"mode": mode, "padding_mode": outside, "align_corners": int(c["align_corners"])}
    return c.op("GridSample", c.operand("input"), c.operand("grid"), **attributes)


OPERATORS = {
    **dict.fromkeys(("t", "transpose", "permute"), _transpose),
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze"), _to_own_shape),
    "expand": _expand,
    "cat": _cat,
    "slice": _slice,
    "select": _select,
    **dict.fromkeys(("split", "split_with_sizes"), _split),
    "constant_pad_nd": _pad,
    "repeat": _tile,
    "flip": _flip,
    **dict.fromkeys(("full", "full_like", "new_full"), _constant("fill_value")),
    "scalar_tensor": _constant("s"),
    "fill": _constant("value"),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), _constant(0)),
    # Not initialised, which is as good as zero: code that fills them does not read them.
    **dict.fromkeys(("empty", "empty_like", "empty_permuted", "new_empty"), _constant(0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), _constant(1)),
    "arange": _arange,
    **dict.fromkeys(("tril_indices", "triu_indices"), _triangle),
    **dict.fromkeys(("sort", "topk"), _sorted),
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
    "index": _index,
    **dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d"), _grid_sample),
}
