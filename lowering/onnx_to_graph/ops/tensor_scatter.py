"""TensorScatter: new rows of a cache at places that each sample of a batch has for itself."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, reshape, shape_of

_FEW = 4
"""Rows that are selected one after the other; more are looked up."""


def _places(node: Node, extent: int, batch: int) -> Any:
    """For every sample and every place of the cache the number of the new row that goes there, [batch, extent]; other
    numbers where there is none."""
    first = node.operand(2) if node.has(2) else constant(np.zeros(batch, np.int64))
    first = cast(reshape(first, [batch, 1]), ir.IntegerType.get_signless(32))
    own = constant(np.arange(extent).reshape(1, extent), like=first)
    number = graph.Sub.build(own, first).result
    if node.attribute("mode", "linear") == "circular":
        return graph.Mod.build(number, constant(extent, like=number), fmod=False).result
    return number


def tensor_scatter(node: Node) -> Any:
    """TensorScatter, linear or circular."""
    if node.attribute("mode", "linear") not in ("linear", "circular"):
        raise node.error(f"mode '{node.attribute('mode')}' does not exist", hint="use 'linear' or 'circular'")
    cache, update = node.operand(0), node.operand(1)
    shape = shape_of(cache)
    axis, batch = node.axis(node.attribute("axis", -2), len(shape)), shape[0]
    rows = shape_of(update)[axis]
    number = _places(node, shape[axis], batch)
    spread = [n if i in (0, axis) else 1 for i, n in enumerate(shape)]
    if rows <= _FEW:
        for row in range(rows):
            limits = [row + 1 if i == axis else n for i, n in enumerate(shape_of(update))]
            starts = [row if i == axis else 0 for i in range(len(shape))]
            new = graph.Slice.build(update, starts=starts, limits=limits, steps=[1] * len(shape)).result
            here = reshape(graph.Equal.build(number, constant(row, like=number)).result, spread)
            cache = graph.Where.build(here, new, cache).result
        return cache
    kept = graph.Clip.build(number, min=0.0, max=float(rows - 1)).result
    there = reshape(graph.Equal.build(kept, number).result, spread)
    return graph.Where.build(there, _looked_up(update, kept, axis), cache).result


def _looked_up(update: Any, numbers: Any, axis: int) -> Any:
    """Row `numbers[sample, place]` of every sample at every place."""
    shape = shape_of(update)
    samples = []
    for sample in range(shape[0]):
        limits = [sample + 1, *shape[1:]]
        own = graph.Slice.build(update, starts=[sample, *[0] * (len(shape) - 1)], limits=limits, steps=[1] * len(shape))
        extent = shape_of(numbers)[1]
        named = graph.Slice.build(numbers, starts=[sample, 0], limits=[sample + 1, extent], steps=[1, 1]).result
        samples.append(graph.Gather.build(own.result, reshape(named, [extent]), axis=axis).result)
    return concat_tree(samples, 0)
