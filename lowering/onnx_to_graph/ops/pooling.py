"""Pooling over windows."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.contraction import window_attributes

_WINDOWS = "mnc.windows"
"""Attribute of the indices that MaxPool gives, in row-major order: the windows that it found them in."""


@dataclass(frozen=True)
class Windows:
    """Windows over data of the whole `shape`, without dilations."""

    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]

    @property
    def are_apart(self) -> bool:
        """Whether no element lies in two windows."""
        return all(k <= s for k, s in zip(self.kernel, self.strides, strict=True))


def place_in_window(indices: Any, windows: Windows) -> Any:
    """The number of the element of its window, in row-major order, that every index names; None where it is not known
    that the indices come from a MaxPool with such windows."""
    owner = indices.owner
    if isinstance(owner, ir.Block) or _WINDOWS not in owner.attributes:
        return None
    if ir.StringAttr(owner.attributes[_WINDOWS]).value != str(windows):
        return None
    kept = owner.operands[0].owner.operands[0].owner  # of the sum that `_places_of_maxima` ends with
    chosen = kept.operands[0].owner.operands[0]
    return reshape(chosen, shape_of(indices))


def pool(kind: str) -> Callable[[Node], Any]:
    """Handler of MaxPool, AveragePool and LpPool."""

    def handler(node: Node) -> Any:
        x = node.operand(0)
        kernel = node.attribute("kernel_shape")
        window = window_attributes(node, shape_of(x)[2:], kernel)
        pooled = graph.Pool.build(
            x,
            kind=kind,
            kernel=kernel,
            **window,
            ceil_mode=bool(node.attribute("ceil_mode", 0)),
            count_include_pad=bool(node.attribute("count_include_pad", 0)),
            p=node.attribute("p", 2) if kind == "lp" else None,
        ).result
        if not node.wants(1):
            return pooled
        return [pooled, _places_of_maxima(x, shape_of(pooled)[2:], kernel, window, node.attribute("storage_order", 0))]

    return handler


def global_norm(node: Node) -> Any:
    """GlobalLpPool: the p-norm of every channel; for other p than 1 and 2 it is that of one window."""
    x, p = node.operand(0), node.attribute("p", 2)
    extents = shape_of(x)[2:]
    if p in _NORMS or not extents:
        kind, axes = _NORMS.get(p, "l1"), list(range(2, len(extents) + 2))
        return graph.Reduce.build(x, kind=kind, axes=axes, keepdims=True).result
    ones = [1] * len(extents)
    return graph.Pool.build(
        x, kind="lp", kernel=extents, strides=ones, pads=[0] * (2 * len(extents)), dilations=ones, ceil_mode=False,
        count_include_pad=False, p=p,
    ).result  # fmt: skip


_NORMS = {1: "l1", 2: "l2"}


def _places_of_maxima(x: Any, extents: list[int], kernel: list[int], window: dict[str, list[int]], order: int) -> Any:
    """Flat index into the whole of `x` of the first largest element of every window.

    One strided slice of the padded data per element of the window; which of them holds the maximum says where it is.
    `order` 1 counts the spatial dimensions column by column.
    """
    shape, rank = shape_of(x), len(kernel)
    strides, dilations = window["strides"], window["dilations"]
    low = window["pads"][:rank]
    reach = [(extents[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 for i in range(rank)]
    high = [max(reach[i] - low[i] - shape[2 + i], 0) for i in range(rank)]
    is_integer = graph.numpy_dtype(element_type_of(x)).kind in "iu"
    wide = cast(x, ir.IntegerType.get_signless(32)) if is_integer else x  # integers are of 8 bits: padding is below
    lowest = float(np.iinfo(np.int32).min) if is_integer else -np.inf
    padded = graph.Pad.build(wide, low=[0, 0, *low], high=[0, 0, *high], value=lowest, mode="constant").result
    limits, slices, places = shape_of(padded), [], []
    for offset in itertools.product(*map(range, kernel)):
        first = [o * d for o, d in zip(offset, dilations, strict=True)]
        last = [f + (e - 1) * s + 1 for f, e, s in zip(first, extents, strides, strict=True)]
        part = graph.Slice.build(
            padded, starts=[0, 0, *first], limits=[*limits[:2], *last], steps=[1, 1, *strides]
        ).result
        slices.append(reshape(part, [*shape[:2], 1, *extents]))
        places.append(np.meshgrid(*(f - p + s * np.arange(e) for f, p, s, e in
                                    zip(first, low, strides, extents, strict=True)), indexing="ij"))  # fmt: skip
    chosen = graph.ArgReduce.build(concat_tree(slices, 2), kind="max", axis=2, keepdims=True, select_last=False).result
    weights = np.cumprod([1, *(shape[2:] if order else shape[:1:-1])])[:-1]
    weights = weights if order else weights[::-1]
    flat = np.tensordot(weights, np.array(places), axes=(0, 1))[None, None]
    numbers = np.arange(len(places)).reshape(1, 1, -1, *[1] * rank)
    hit = graph.Equal.build(chosen, constant(numbers, like=chosen)).result
    kept = graph.Where.build(hit, constant(flat, like=chosen), constant(0, like=chosen)).result
    inner = graph.Reduce.build(kept, kind="sum", axes=[2], keepdims=False).result
    start = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *[1] * rank) * int(np.prod(shape[2:]))
    indices = graph.Add.build(inner, constant(start, like=inner))
    if not order and max(dilations) == 1:
        own = Windows(tuple(shape), tuple(kernel), tuple(strides), tuple(window["pads"]))
        indices.operation.attributes[_WINDOWS] = ir.StringAttr.get(str(own))
    return indices.result
