"""RoiAlign: the mean, or the largest, of an image at points of boxes, which may come from a run."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, broadcast_to, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.grid_sample import Axis, Tap, combined

_HINT = "set sampling_ratio to the number of points along a side of a bin; torchvision calls it so, too"


def _column(rois: Any, number: int) -> Any:
    """One coordinate of every box, [boxes, 1]."""
    count = shape_of(rois)[0]
    return graph.Slice.build(rois, starts=[0, number], limits=[count, number + 1], steps=[1, 1]).result


class _Boxes:
    """Where the points of all boxes lie."""

    def __init__(self, node: Node) -> None:
        self.rois = cast(node.operand(1), ir.F32Type.get())
        self.count = shape_of(self.rois)[0]
        self.scale = float(node.attribute("spatial_scale", 1.0))
        before_shifts = "half_pixel" if node.version >= 16 else "output_half_pixel"
        self.shifted = node.attribute("coordinate_transformation_mode", before_shifts) == "half_pixel"
        self.samples = int(node.attribute("sampling_ratio", 0))
        if self.samples <= 0:
            raise node.error("sampling_ratio is 0: how many points a bin has depends on the boxes", hint=_HINT)

    def _end(self, number: int) -> Any:
        value = _column(self.rois, number)
        value = graph.Mul.build(value, constant(self.scale, like=value)).result
        return graph.Sub.build(value, constant(0.5, like=value)).result if self.shifted else value

    def points(self, first: int, pooled: int) -> Any:
        """Coordinates along one dimension, [boxes, pooled * samples]; `first` is the column of the smaller end, the
        larger one stands two further."""
        low = self._end(first)
        size = graph.Sub.build(self._end(first + 2), low).result
        if not self.shifted:
            size = graph.Max.build(size, constant(1.0, like=size)).result
        places = ((np.arange(pooled * self.samples) + 0.5) / (self.samples * pooled)).reshape(1, -1)
        steps = graph.Mul.build(size, constant(places, like=size)).result
        return graph.Add.build(low, steps).result


def _inside(points: Any, extent: int) -> Any:
    """1 where a point counts, 0 where it lies more than a pixel outside."""
    low = graph.GreaterOrEqual.build(points, constant(-1.0, like=points)).result
    high = graph.LessOrEqual.build(points, constant(float(extent), like=points)).result
    return cast(graph.And.build(low, high).result, element_type_of(points))


def _kept(points: Any, extent: int) -> Any:
    return graph.Clip.build(points, min=0.0, max=extent - 1.0).result


def _weights(points: Any, samples: int, extent: int) -> Any:
    """Weight of every row of the image for every bin, [boxes, pooled, extent]: linear between neighbours, the mean over
    the points of a bin."""
    boxes, count = shape_of(points)
    places = constant(np.arange(extent).reshape(1, 1, extent), like=points)
    distance = graph.Abs.build(graph.Sub.build(reshape(_kept(points, extent), [boxes, count, 1]), places).result).result
    tent = graph.Relu.build(graph.Sub.build(constant(1.0, like=points), distance).result).result
    tent = graph.Mul.build(tent, reshape(_inside(points, extent), [boxes, count, 1])).result
    bins = reshape(tent, [boxes, count // samples, samples, extent])
    return graph.Reduce.build(bins, kind="mean", axes=[2], keepdims=False).result


def _of_batch(node: Node, rows: Any, batch: int) -> Any:
    """Weights of the rows of all images of a batch, [boxes, pooled, batch * extent]: those of other images are 0."""
    if batch == 1:
        return rows
    boxes, pooled, extent = shape_of(rows)
    numbers = reshape(cast(node.operand(2), element_type_of(rows)), [boxes, 1])
    own = graph.Equal.build(numbers, constant(np.arange(batch).reshape(1, batch), like=rows)).result
    chosen = reshape(cast(own, element_type_of(rows)), [boxes, 1, batch, 1])
    wide = graph.Mul.build(chosen, reshape(rows, [boxes, pooled, 1, extent])).result
    return reshape(wide, [boxes, pooled, batch * extent])


def _mean(node: Node, boxes: _Boxes, pooled: tuple[int, int]) -> Any:
    """Means are a product with the weights of rows, and one with those of columns: nothing is looked up."""
    x = cast(node.operand(0), ir.F32Type.get())
    batch, channels, height, width = shape_of(x)
    rows = _of_batch(node, _weights(boxes.points(1, pooled[0]), boxes.samples, height), batch)
    columns = _weights(boxes.points(0, pooled[1]), boxes.samples, width)
    image = graph.Transpose.build(x, permutation=[0, 2, 1, 3]).result
    image = reshape(image, [batch * height, channels * width])
    first = graph.MatMul.build(reshape(rows, [boxes.count * pooled[0], batch * height]), image).result
    turned = graph.Transpose.build(columns, permutation=[0, 2, 1]).result
    second = graph.MatMul.build(reshape(first, [boxes.count, pooled[0] * channels, width]), turned).result
    result = reshape(second, [boxes.count, pooled[0], channels, pooled[1]])
    return graph.Transpose.build(result, permutation=[0, 2, 1, 3]).result


def _largest(node: Node, boxes: _Boxes, pooled: tuple[int, int]) -> Any:
    """The largest product of an element and its weight, of all points of a bin and their four neighbours."""
    x = node.operand(0)
    batch, channels, height, width = shape_of(x)
    down, right = (n * boxes.samples for n in pooled)
    places = boxes.count * down * right

    def spread(value: Any, axis: int) -> Any:
        own = [boxes.count, *(shape_of(value)[1] if i == axis else 1 for i in (0, 1))]
        return reshape(broadcast_to(reshape(value, own), [boxes.count, down, right]), [1, places])

    numbers = cast(reshape(node.operand(2), [boxes.count, 1]), ir.F32Type.get())
    axes: list[list[Tap]] = [[(spread(numbers, 2), None)]]
    for axis, (first, count, extent) in enumerate(((1, pooled[0], height), (0, pooled[1], width))):
        points = boxes.points(first, count)
        taps = Axis(extent, "linear", "border", True).taps_at(spread(_kept(points, extent), axis))
        there = spread(_inside(points, extent), axis)
        axes.append([(index, graph.Mul.build(weight, there).result) for index, weight in taps])
    table = reshape(graph.Transpose.build(x, permutation=[1, 0, 2, 3]).result, [channels, batch * height * width])
    largest = None
    for index, weight in combined(axes, [batch, height, width]):
        found = graph.Gather.build(table, reshape(index, [places]), axis=1).result
        own = graph.Mul.build(found, weight).result
        largest = own if largest is None else graph.Max.build(largest, own).result
    grid = [channels, boxes.count, pooled[0], boxes.samples, pooled[1], boxes.samples]
    top = graph.Reduce.build(reshape(largest, grid), kind="max", axes=[3, 5], keepdims=False).result
    return graph.Transpose.build(top, permutation=[1, 0, 2, 3]).result


def roi_align(node: Node) -> Any:
    """RoiAlign with a fixed number of points in every bin."""
    mode = str(node.attribute("mode", "avg")).lower()
    if mode not in ("avg", "max"):
        raise node.error(f"mode '{mode}' does not exist", hint="use 'avg' or 'max'")
    pooled = node.attribute("output_height", 1), node.attribute("output_width", 1)
    result = (_mean if mode == "avg" else _largest)(node, _Boxes(node), pooled)
    return cast(result, element_type_of(node.operand(0)))
