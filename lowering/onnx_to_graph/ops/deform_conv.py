"""DeformConv: a convolution whose taps lie at computed places, between elements."""

from math import prod
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.contraction import window_attributes
from mnc.lowering.onnx_to_graph.ops.grid_sample import Axis, combined, sampled


def _undisturbed(outer: list[int], kernel: list[int], window: dict[str, list[int]]) -> np.ndarray:
    """Coordinates of all taps of all places without offsets, [dimension, taps * places]."""
    place, tap = np.indices(outer), np.indices(kernel)
    rank = len(kernel)
    found = [
        tap[d].reshape(-1, 1) * window["dilations"][d] + place[d].reshape(1, -1) * window["strides"][d]
        - window["pads"][d]
        for d in range(rank)
    ]  # fmt: skip
    return np.stack(found).reshape(rank, -1)


def _columns(node: Node, kernel: list[int]) -> Any:
    """What every tap of every place reads, [batch, channels, taps * places]."""
    x, offset = node.operand(0), node.operand(2)
    (batch, channels, *extents), outer = shape_of(x), shape_of(offset)[2:]
    rank, groups = len(extents), node.attribute("offset_group", 1)
    taps, places = prod(kernel), prod(outer)
    undisturbed = _undisturbed(outer, kernel, window_attributes(node, extents, kernel))
    parts = reshape(offset, [batch * groups, taps, rank, places])
    axes = []
    for d, extent in enumerate(extents):
        limits = [batch * groups, taps, d + 1, places]
        own = graph.Slice.build(parts, starts=[0, 0, d, 0], limits=limits, steps=[1] * 4).result
        start = constant(undisturbed[d].reshape(1, -1), like=x)
        at = graph.Add.build(reshape(own, [batch * groups, taps * places]), start).result
        axes.append(Axis(extent, "linear", "zeros", True).taps_at(at))
    table = reshape(x, [batch * groups, channels // groups, prod(extents)])
    found = sampled(table, combined(axes, extents))
    if node.has(4):
        mask = reshape(node.operand(4), [batch * groups, 1, taps * places])
        found = graph.Mul.build(found, mask).result
    return reshape(found, [batch, channels, taps * places])


def deform_conv(node: Node) -> Any:
    """DeformConv of any number of spatial dimensions."""
    weight = node.operand(1)
    filters, inner, *kernel = shape_of(weight)
    group = node.attribute("group", 1)
    outer = shape_of(node.operand(2))[2:]
    columns = _columns(node, kernel)
    batch = shape_of(columns)[0]
    columns = reshape(columns, [batch, group, inner * prod(kernel), prod(outer)])
    factors = reshape(weight, [1, group, filters // group, inner * prod(kernel)])
    result = reshape(graph.MatMul.build(factors, columns).result, [batch, filters, *outer])
    if not node.has(3):
        return result
    return graph.Add.build(result, reshape(node.operand(3), [1, filters, *[1] * len(outer)])).result
