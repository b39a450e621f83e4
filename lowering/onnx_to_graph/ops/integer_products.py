"""Products of 8-bit integers: exact on the matrix unit, whose sums of integers are exact below 2**24.

Differences of 8-bit integers to their zero points have nine bits, which no conversion for the matrix unit rounds. The
contracted dimension is cut into as few pieces as keep every sum exact; the pieces are added as 32-bit integers.
"""

from collections.abc import Callable

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.contraction import window_attributes

LIMITS = {"i8": (-128, 127), "ui8": (0, 255), "i16": (-32768, 32767), "ui16": (0, 65535)}
EXACT = 2 ** (np.finfo(np.float32).nmant + 1)
"""Sums of integers that stay below are exact in single precision, in whatever order they are added."""


def per_line(value: ir.Value, rows: bool) -> ir.Value:
    """A vector with one number per row or per column, as it broadcasts to a matrix."""
    own = shape_of(value)
    return reshape(value, [*own, 1]) if rows and len(own) == 1 and own != [1] else value


class _Factor:
    """An operand of a product, its zero point, and what is known of their values."""

    def __init__(self, node: Node, number: int, zero: int, spread: Callable[[ir.Value], ir.Value]) -> None:
        self.value = node.operand(number)
        self.zero = spread(node.operand(zero)) if node.has(zero) else None
        known, known_zero = node.known(number), node.known(zero) if node.has(zero) else np.zeros((), np.int64)
        kind = str(element_type_of(self.value))
        if kind not in LIMITS:
            raise node.error(f"it multiplies {kind}", hint="use INT8 or UINT8")
        low, high = LIMITS[kind]
        zeros = np.array([low, high]) if known_zero is None else known_zero.astype(np.int64)
        self.largest = int(max(high - zeros.min(), zeros.max() - low))
        self.known: np.ndarray | None = None
        if known is not None and known_zero is not None:
            place = tuple(shape_of(self.zero)) if self.zero is not None else ()
            self.known = np.abs(known.astype(np.int64) - known_zero.astype(np.int64).reshape(place))

    def centred(self, kind: ir.Type) -> ir.Value:
        """value - zero point, both converted to a type that holds them exactly."""
        value = cast(self.value, kind)
        return value if self.zero is None else graph.Sub.build(value, cast(self.zero, kind)).result


def _slice(value: ir.Value, axis: int, start: int, stop: int) -> ir.Value:
    shape = shape_of(value)
    starts, limits = [0] * len(shape), list(shape)
    starts[axis], limits[axis] = start, stop
    return graph.Slice.build(value, starts=starts, limits=limits, steps=[1] * len(shape)).result


def _pieces(extent: int, largest_sum: Callable[[int, int], int]) -> list[tuple[int, int]] | None:
    """The fewest equal parts of a dimension whose sums are exact; None if not even single elements are."""
    for count in range(1, extent + 1):
        size = -(-extent // count)
        parts = [(start, min(start + size, extent)) for start in range(0, extent, size)]
        if all(largest_sum(*part) < EXACT for part in parts):
            return parts
    return None


def _largest_sum(a: _Factor, b: _Factor, axes: tuple[int, int], inner: int) -> Callable[[int, int], int]:
    """The largest sum of products over a range of the contracted dimension, which is `axes` of the factors; `inner`
    elements are contracted with each."""

    def found(start: int, stop: int) -> int:
        sums = [a.largest * b.largest * (stop - start) * inner]
        for known, axis, other in ((a.known, axes[0], b.largest), (b.known, axes[1], a.largest)):
            if known is not None:
                part = known.take(range(start, stop), axis=axis)
                contracted = (axis,) if inner == 1 else tuple(range(1, known.ndim))
                sums.append(int(part.sum(axis=contracted).max(initial=0)) * other)
        return min(sums)

    return found


def _total(parts: list[ir.Value]) -> ir.Value:
    """The sum of exact parts, as 32-bit integers."""
    i32 = ir.IntegerType.get_signless(32)
    total = cast(parts[0], i32)
    for part in parts[1:]:
        total = graph.Add.build(total, cast(part, i32)).result
    return total


def matrix_product(node: Node, a: tuple[int, int], b: tuple[int, int]) -> ir.Value:
    """The product of two matrices of integers in 32 bits; `a` and `b` are the numbers of an operand and its zero point,
    one for all or one per row of a, per column of b."""
    left = _Factor(node, *a, lambda zero: per_line(zero, rows=True))
    right = _Factor(node, *b, lambda zero: per_line(zero, rows=False))
    axes = len(shape_of(left.value)) - 1, max(len(shape_of(right.value)) - 2, 0)
    parts = _pieces(shape_of(left.value)[axes[0]], _largest_sum(left, right, axes, 1))
    if parts is None:
        i32 = ir.IntegerType.get_signless(32)
        return graph.MatMul.build(left.centred(i32), right.centred(i32)).result
    x, w = (factor.centred(ir.F32Type.get()) for factor in (left, right))
    products = [graph.MatMul.build(_slice(x, axes[0], *part), _slice(w, axes[1], *part)).result for part in parts]
    return _total(products)


def convolution(node: Node, x: tuple[int, int], w: tuple[int, int]) -> ir.Value:
    """The convolution of integers in 32 bits, as `matrix_product`; zero points are one for all, or for the weights one
    per result channel."""

    def per_channel(zero: ir.Value) -> ir.Value:
        return reshape(zero, [shape_of(zero)[0], *[1] * (len(kernel) + 1)]) if shape_of(zero) not in ([], [1]) else zero

    shape, kernel = shape_of(node.operand(x[0])), shape_of(node.operand(w[0]))[2:]
    data, weights = _Factor(node, *x, lambda zero: zero), _Factor(node, *w, per_channel)
    data.known = None  # windows of it are summed, not all of it
    group = node.attribute("group", 1)
    attributes = window_attributes(node, shape[2:], kernel)
    channels, inner = shape[1] // group, int(np.prod(kernel, dtype=np.int64))
    parts = _pieces(channels, _largest_sum(data, weights, (1, 1), inner))
    if parts is None or (group > 1 and len(parts) > 1):
        i32 = ir.IntegerType.get_signless(32)
        return graph.Conv.build(data.centred(i32), weights.centred(i32), **attributes, group=group).result
    values = [factor.centred(ir.F32Type.get()) for factor in (data, weights)]
    if len(parts) == 1:
        return _total([graph.Conv.build(*values, **attributes, group=group).result])
    cut = [[_slice(value, 1, *part) for value in values] for part in parts]
    return _total([graph.Conv.build(*pair, **attributes, group=1).result for pair in cut])
