"""GridSample: every place of the result is a weighted sum of elements at computed indices."""

from itertools import product
from math import prod
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.selection import batch_gather

MODES = {"bilinear": "linear", "bicubic": "cubic", "linear": "linear", "cubic": "cubic", "nearest": "nearest"}
PADDINGS = ("zeros", "border", "reflection")
_ALPHA = -0.75  # of the cubic convolution (R. Keys, 1981), as the operator is defined

Tap = tuple[Any, Any | None]
"""Index and its weight (None: 1) for every place of the result; indices along one dimension are floats."""


def _affine(x: Any, factor: float, summand: float) -> Any:
    """factor * x + summand."""
    scaled = graph.Mul.build(x, constant(factor, like=x)).result if factor != 1 else x
    return graph.Add.build(scaled, constant(summand, like=x)).result


def _reflected(x: Any, low: float, high: float) -> Any:
    """x mirrored at both borders until it lies between them: a triangular wave."""
    if high == low:
        return _affine(x, 0.0, low)
    period = 2 * (high - low)
    start = _affine(x, 1.0, -low)
    turns = graph.Floor.build(graph.Div.build(start, constant(period, like=x)).result).result
    rest = graph.Sub.build(start, _affine(turns, period, 0.0)).result
    back = graph.Min.build(rest, _affine(rest, -1.0, period)).result
    return _affine(back, 1.0, low)


class Axis:
    """One spatial dimension of the sampled tensor."""

    def __init__(self, extent: int, mode: str, padding: str, aligned: bool) -> None:
        self.extent = extent
        self.mode = mode
        self.padding = padding
        self.aligned = aligned

    def _bordered(self, x: Any) -> Any:
        """Coordinates with those outside moved to where the padding takes its values from."""
        if self.padding == "reflection":
            return _reflected(x, *((0.0, self.extent - 1.0) if self.aligned else (-0.5, self.extent - 0.5)))
        return self._clipped(x) if self.padding == "border" else x

    def _clipped(self, x: Any) -> Any:
        return graph.Clip.build(x, min=0.0, max=self.extent - 1.0).result

    def taps(self, x: Any) -> list[Tap]:
        """Indices and weights for coordinates from -1 to 1."""
        x = _affine(x, 1.0, 1.0)
        x = _affine(x, self.extent - 1.0, 0.0) if self.aligned else _affine(x, float(self.extent), -1.0)
        return self.taps_at(graph.Div.build(x, constant(2.0, like=x)).result)

    def taps_at(self, x: Any) -> list[Tap]:
        """Indices and weights for coordinates that count elements."""
        if self.mode == "nearest":
            x = graph.Round.build(x).result
        if (self.mode, self.padding) != ("cubic", "border"):  # there, only taps are moved: the curve goes on outside
            x = self._bordered(x)
        if self.mode == "nearest":
            return [self._tap(x, 0, None)]
        first = graph.Floor.build(x).result
        part = graph.Sub.build(x, first).result
        if self.mode == "linear":
            return [self._tap(first, 0, _affine(part, -1.0, 1.0)), self._tap(first, 1, part)]
        return [self._tap(first, i - 1, _cubic(_affine(part, *way))) for i, way in enumerate(_DISTANCES)]

    def _tap(self, first: Any, offset: int, weight: Any | None) -> Tap:
        index = _affine(first, 1.0, float(offset)) if offset else first
        if self.padding == "zeros":
            kept = self._clipped(index)
            there = cast(graph.Equal.build(kept, index).result, element_type_of(index))
            return kept, there if weight is None else graph.Mul.build(weight, there).result
        return self._clipped(self._bordered(index)), weight


_DISTANCES = ((1.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (-1.0, 2.0))
"""Distance of the four taps of a cubic from a coordinate, as a factor of its fraction and a summand."""


def _cubic(distance: Any) -> Any:
    """Weight of a tap at a distance from 0 to 2."""

    def polynomial(*coefficients: float) -> Any:
        value = constant(coefficients[0], like=distance)
        for c in coefficients[1:]:
            value = graph.Add.build(graph.Mul.build(value, distance).result, constant(c, like=distance)).result
        return value

    near = polynomial(_ALPHA + 2, -(_ALPHA + 3), 0.0, 1.0)
    far = polynomial(_ALPHA, -5 * _ALPHA, 8 * _ALPHA, -4 * _ALPHA)
    return graph.Where.build(graph.Less.build(distance, constant(1.0, like=distance)).result, near, far).result


def combined(axes: list[list[Tap]], extents: list[int]) -> list[Tap]:
    """Flat indices and weights of all combinations of taps."""
    found = []
    for taps in product(*axes):
        flat, weight = taps[0]
        for (index, own), extent in zip(taps[1:], extents[1:], strict=True):
            flat = graph.Add.build(_affine(flat, float(extent), 0.0), index).result
            if own is not None:
                weight = own if weight is None else graph.Mul.build(weight, own).result
        found.append((cast(flat, ir.IntegerType.get_signless(32)), weight))
    return found


def sampled(tables: Any, taps: list[Tap]) -> Any:
    """Weighted sums of elements of tables [batch, channels, elements] with taps [batch, places]: [batch, channels,
    places]. Each tap is looked up for itself: what is looked up stays where the weights are, and is added up there."""
    total = None
    for indices, weight in taps:
        found = batch_gather(tables, indices, 2, 1)
        if weight is not None:
            batch, places = shape_of(weight)
            found = graph.Mul.build(found, reshape(weight, [batch, 1, places])).result
        total = found if total is None else graph.Add.build(total, found).result
    return total


def grid_sample(node: Node) -> Any:
    """GridSample of any number of spatial dimensions."""
    x, grid = node.operand(0), node.operand(1)
    mode, padding = node.attribute("mode", "linear"), node.attribute("padding_mode", "zeros")
    if mode not in MODES or padding not in PADDINGS:
        raise node.error(f"mode '{mode}' with padding '{padding}' is not supported")
    (batch, channels, *extents), (_, *outer, rank) = shape_of(x), shape_of(grid)
    places = prod(outer)
    flat = reshape(grid, [batch, places, rank])
    taps = []
    for d, extent in enumerate(extents):
        last = rank - 1 - d  # the coordinates come in the opposite order of the dimensions
        own = graph.Slice.build(flat, starts=[0, 0, last], limits=[batch, places, last + 1], steps=[1] * 3).result
        axis = Axis(extent, MODES[mode], padding, bool(node.attribute("align_corners", 0)))
        taps.append(axis.taps(reshape(own, [batch, places])))
    result = sampled(reshape(x, [batch, channels, prod(extents)]), combined(taps, extents))
    return reshape(result, [batch, channels, *outer])
