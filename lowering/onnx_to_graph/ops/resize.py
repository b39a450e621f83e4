"""Resize and Upsample: every dimension on its own is a weighted sum of gathers with constant indices."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, element_type_of, reshape, shape_of

Coefficients = Callable[[float, float], list[float]]
"""(fraction in (0, 1], scale) -> weights of an even number of neighbours."""


def _nearest(mode: str) -> Coefficients:
    takes_left = {
        "round_prefer_floor": lambda ratio: ratio <= 0.5,
        "round_prefer_ceil": lambda ratio: ratio < 0.5,
        "floor": lambda ratio: ratio < 1,
        "ceil": lambda ratio: False,
    }[mode]
    return lambda ratio, scale: [1.0, 0.0] if takes_left(ratio) else [0.0, 1.0]


def _tent(antialias: bool) -> Coefficients:
    def weights(ratio: float, scale: float) -> list[float]:
        scale = min(scale, 1.0) if antialias else 1.0
        start = math.floor(-1 / scale) + 1
        return [max(0.0, 1 - abs((i - ratio) * scale)) for i in range(start, 2 - start)]

    return weights


def _cubic(a: float, antialias: bool) -> Coefficients:
    def kernel(x: float) -> float:
        x = abs(x)
        if x <= 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0

    def weights(ratio: float, scale: float) -> list[float]:
        scale = min(scale, 1.0) if antialias else 1.0
        start = math.floor(-2 / scale) + 1
        return [kernel((i - ratio) * scale) for i in range(start, 2 - start)]

    return weights


_MOST_PLACES = 1 << 20
"""Elements of a resized dimension: the weights of each are computed one by one."""


@dataclass(frozen=True)
class _Axis:
    """How one dimension is resized; `region` is its part of the region of interest."""

    extent: int
    size: int
    scale: float
    region: tuple[float, float]

    def origin(self, mode: str, x: int) -> float:
        """Coordinate in the input of element x of the result (ONNX Resize, coordinate_transformation_mode)."""
        width = self.scale * self.extent
        last = self.extent - 1
        if mode == "align_corners":
            return 0.0 if width == 1 else x * last / (width - 1)
        if mode == "asymmetric":
            return x / self.scale
        if mode == "tf_crop_and_resize":
            low, high = self.region
            inside = (high - low) * last / 2 if width == 1 else x * (high - low) * last / (width - 1)
            return inside + low * last
        if mode == "pytorch_half_pixel" and width == 1:
            return -0.5
        centre = 0.0
        if mode == "half_pixel_symmetric":
            centre = self.extent / 2 * (1 - self.size / width)
        return centre + (x + 0.5) / self.scale - 0.5


def _taps(axis: _Axis, mode: str, weights: Coefficients, exclude: bool) -> tuple[np.ndarray, np.ndarray]:
    """Indices and weights [size, taps] of the elements that make up each element of the result."""
    rows, places = [], []
    for x in range(axis.size):
        origin = axis.origin(mode, x)
        ratio = 1.0 if float(origin).is_integer() else origin - math.floor(origin)
        row = np.array(weights(ratio, axis.scale))
        place = math.ceil(origin) - len(row) // 2 + np.arange(len(row))
        if exclude:
            row = np.where((place < 0) | (place >= axis.extent), 0.0, row)
        rows.append(row / row.sum())
        places.append(np.clip(place, 0, axis.extent - 1))
    return np.array(places), np.array(rows)


def _first(places: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The place of the first tap that counts, for each element of the result."""
    return np.take_along_axis(places, np.argmax(rows != 0, axis=1)[:, None], 1)[:, 0]


def _repeated(x: Any, dim: int, times: int) -> Any:
    """Every element of a dimension several times in a row: a broadcast, which moves nothing."""
    shape = list(shape_of(x))
    apart = reshape(x, [*shape[: dim + 1], 1, *shape[dim + 1 :]])
    wide = [*shape[: dim + 1], times, *shape[dim + 1 :]]
    spread = graph.BroadcastTo.build(apart, result_type=graph.tensor(wide, element_type_of(x))).result
    return reshape(spread, [*shape[:dim], shape[dim] * times, *shape[dim + 1 :]])


def _mixed(x: Any, dim: int, places: np.ndarray, rows: np.ndarray) -> Any:
    """A product with the matrix of the weights along one dimension."""
    shape = shape_of(x)
    matrix = np.zeros((len(rows), shape[dim]))
    np.add.at(matrix, (np.arange(len(rows))[:, None], places), rows)
    if dim == len(shape) - 2:
        return graph.MatMul.build(constant(matrix, like=x), x).result
    order = [i for i in range(len(shape)) if i != dim] + [dim]
    back = [order.index(i) for i in range(len(shape))]
    last = graph.Transpose.build(x, permutation=order).result
    product = graph.MatMul.build(last, constant(matrix.T, like=x)).result
    return graph.Transpose.build(product, permutation=back).result


def _resized(x: Any, dim: int, places: np.ndarray, rows: np.ndarray) -> Any:
    """The weighted sum of elements along one dimension; taps without weight are left out."""
    rank, extent = len(shape_of(x)), shape_of(x)[dim]
    copies = bool(np.isin(rows, (0, 1)).all())  # one tap that counts for each element of the result
    if rank > 1 and not copies:
        return _mixed(x, dim, places, rows)
    times, rest = divmod(len(rows), extent)
    if copies and rest == 0 and (_first(places, rows) == np.arange(len(rows)) // times).all():
        return _repeated(x, dim, times)
    total = None
    order = np.argsort(rows == 0, axis=1, kind="stable")  # the taps that count come first
    places, rows = np.take_along_axis(places, order, 1), np.take_along_axis(rows, order, 1)
    for tap in range(rows.shape[1]):
        weight = rows[:, tap]
        if not weight.any():
            continue
        term = graph.Gather.build(x, constant(places[:, tap].astype(np.int64)), axis=dim).result
        if not (weight == 1).all():
            column = weight.reshape([-1 if i == dim else 1 for i in range(rank)])
            term = graph.Mul.build(term, constant(column, like=x)).result
        total = term if total is None else graph.Add.build(total, term).result
    return total


def _targets(node: Node, shape: Sequence[int], axes: list[int], first: int) -> tuple[list[float], list[int]]:
    """Scale and extent of every dimension of `axes`."""
    extents = [shape[axis] for axis in axes]
    if node.op_type == "Upsample" and node.version < 9:
        scales = [float(value) for value in node.attribute("scales")]
        return scales, [math.floor(s * n) for s, n in zip(scales, extents, strict=True)]
    if node.has(first) and node.constant(first, "scales").size:
        scales = [float(value) for value in node.constant(first, "scales").reshape(-1)]
        return scales, [math.floor(np.float32(s) * np.float32(n)) for s, n in zip(scales, extents, strict=True)]
    sizes = node.constant_ints(first + 1, "sizes")
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    ratios = [size / extent for size, extent in zip(sizes, extents, strict=True)]
    if policy == "stretch":
        return ratios, sizes
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [scale] * len(axes), [math.floor(scale * extent + 0.5) for extent in extents]


def _weights(node: Node) -> Coefficients:
    mode, antialias = node.attribute("mode", "nearest"), bool(node.attribute("antialias", 0))
    if mode == "nearest":
        old = node.op_type == "Upsample" or node.version < 11
        return _nearest("floor" if old else node.attribute("nearest_mode", "round_prefer_floor"))
    if mode in ("linear", "bilinear"):
        return _tent(antialias)
    return _cubic(node.attribute("cubic_coeff_a", -0.75), antialias)


def resize(node: Node) -> Any:
    """Resize, and Upsample, with scales, sizes and region known at compile time."""
    x = node.operand(0)
    shape = shape_of(x)
    old = node.op_type == "Upsample" or node.version < 11
    axes = node.attribute("axes")
    axes = list(range(len(shape))) if axes is None else [node.axis(axis, len(shape)) for axis in axes]
    mode = "asymmetric" if old else node.attribute("coordinate_transformation_mode", "half_pixel")
    region = node.constant(1, "roi").reshape(-1).tolist() if mode == "tf_crop_and_resize" else []
    scales, sizes = _targets(node, shape, axes, 1 if old else 2)
    is_float = str(element_type_of(x)).startswith(("f", "bf"))
    if not is_float and node.attribute("mode", "nearest") != "nearest":
        raise node.error("it interpolates integers, which is not supported", hint="cast to FLOAT and round")
    weights, exclude = _weights(node), bool(node.attribute("exclude_outside", 0))
    for i, (dim, scale, size) in enumerate(zip(axes, scales, sizes, strict=True)):
        part = (region[i], region[len(axes) + i]) if region else (0.0, 1.0)
        if size == shape[dim] and scale == 1 and part == (0.0, 1.0):
            continue
        if size < 0 or not math.isfinite(scale) or scale <= 0:
            raise node.error(f"dimension {dim} is resized to {size}, by {scale}", hint="sizes and scales are positive")
        if size > _MOST_PLACES:
            message = f"dimension {dim} is resized to {size} elements, and at most {_MOST_PLACES} are"
            raise node.error(message, hint="resize to less")
        axis = _Axis(shape[dim], size, scale, part)
        x = _resized(x, dim, *_taps(axis, mode, weights, exclude))
        if mode == "tf_crop_and_resize":
            x = _outside(node, x, dim, axis)
    return x


def _outside(node: Node, x: Any, dim: int, axis: _Axis) -> Any:
    """The extrapolation value where a coordinate lies outside the input."""
    origins = np.array([axis.origin("tf_crop_and_resize", i) for i in range(axis.size)])
    outside = (origins < 0) | (origins > axis.extent - 1)
    if not outside.any():
        return x
    mask = constant(outside.reshape([-1 if i == dim else 1 for i in range(len(shape_of(x)))]))
    value = constant(node.attribute("extrapolation_value", 0.0), like=x)
    return graph.Where.build(mask, value, x).result
