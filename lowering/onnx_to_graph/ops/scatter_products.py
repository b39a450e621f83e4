"""Sums of many updates by places as products: a matrix that says which update belongs where, times the updates.

The products are of single precision, where a block of eight factors shares an exponent of 23 bits: a sum is as exact as
other sums of floats, unless updates next to each other differ by many orders of magnitude.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.contraction import PRECISION
from mnc.lowering.onnx_to_graph.node import cast, constant, element_type_of, reshape, shape_of

_WORTH = 131_072
"""Fewer pairs of an element and an update are compared and added up sooner than they are multiplied."""
_LINE = 16_384
"""The same for the products of single lines, each of which is a small one."""


_MATRIX = 4_194_304
"""Elements of the matrix of one product, 1024 words in every PE: twice as many leave no room for what is multiplied,
and are brought from place to place."""
_MOST_PRODUCTS = 16
"""Updates in more parts would take long to compile."""


@dataclass(frozen=True)
class Writes:
    """What is written where: `places` and `values` are like the target `x` but for an inserted dimension, that of the
    updates, behind `axis`, along which they have an extent of 1; `places` may have an extent of 1 elsewhere, too."""

    x: Any
    places: Any
    values: Any
    axis: int

    @property
    def count(self) -> int:
        """Updates along the axis."""
        return shape_of(self.places)[self.axis + 1]

    @property
    def by_rows(self) -> bool:
        """Whether whole rows of a matrix are written."""
        return self.axis == 0 and len(shape_of(self.x)) == 2 and shape_of(self.places)[2] == 1


def pays(writes: Writes) -> bool:
    """Whether there is a product, and it is shorter than sums of what comparisons select."""
    pairs = math.prod(shape_of(writes.x)) * writes.count
    line = shape_of(writes.x)[writes.axis] * writes.count
    return isinstance(element_type_of(writes.x), ir.F32Type) and pairs >= _WORTH and (_rows(writes) or line >= _LINE)


def _rows(writes: Writes) -> bool:
    return writes.by_rows and shape_of(writes.x)[1] > 1


def total(writes: Writes) -> Any:
    """What is added to every element of x."""
    if _rows(writes):
        return _of_rows(writes)
    return _of_lines(writes)


def _product(lhs: Any, rhs: Any) -> Any:
    product = graph.MatMul.build(lhs, rhs)
    product.operation.attributes[PRECISION] = ir.StringAttr.get("single")
    return product.result


def _of_rows(writes: Writes) -> Any:
    """One product, or the sum of several that take the updates in turn."""
    extent, width = shape_of(writes.x)
    own = constant(np.arange(extent).reshape(extent, 1), like=writes.places)
    places, values = reshape(writes.places, [1, writes.count]), reshape(writes.values, [writes.count, width])
    parts = -(-extent * writes.count // _MATRIX)
    length = -(-writes.count // parts) if parts <= _MOST_PRODUCTS else writes.count
    total = None
    for first in range(0, writes.count, length):
        end = min(first + length, writes.count)
        some, added = (_between(value, axis, first, end) for axis, value in ((1, places), (0, values)))
        hits = graph.Equal.build(own, some).result
        product = _product(cast(hits, element_type_of(writes.x)), added)
        total = product if total is None else graph.Add.build(total, product).result
    return total


def _between(value: Any, axis: int, first: int, end: int) -> Any:
    """Elements of a matrix from `first` up to `end`."""
    shape = shape_of(value)
    if (first, end) == (0, shape[axis]):
        return value
    starts = [first if i == axis else 0 for i in range(2)]
    limits = [end if i == axis else n for i, n in enumerate(shape)]
    return graph.Slice.build(value, starts=starts, limits=limits, steps=[1, 1]).result


def _of_lines(writes: Writes) -> Any:
    """Places as two digits: where both agree, an update is added.

    Each digit is compared for itself, with as many numbers as the root of the extent; products bring all pairs of
    digits together.
    """
    axis, shape = writes.axis, shape_of(writes.x)
    others = [n for i, n in enumerate(shape) if i != axis]
    extent, lines = shape[axis], math.prod(others)
    low = 2 ** round(math.log2(extent) / 2)
    high = -(-extent // low)
    places, values = (_by_lines(value, axis, lines, writes.count) for value in (writes.places, writes.values))
    base = constant(low, like=places)
    first = graph.Div.build(places, base).result
    second = graph.Sub.build(places, graph.Mul.build(first, base).result).result
    is_first = graph.Equal.build(constant(np.arange(high).reshape(1, high, 1), like=places), first).result
    second, values = (reshape(value, [lines, writes.count, 1]) for value in (second, values))
    is_second = graph.Equal.build(second, constant(np.arange(low).reshape(1, 1, low), like=places)).result
    spread = graph.Where.build(is_second, values, constant(0, like=values)).result
    sums = _product(cast(is_first, element_type_of(values)), spread)
    sums = reshape(sums, [lines, high * low])
    if high * low > extent:
        sums = graph.Slice.build(sums, starts=[0, 0], limits=[lines, extent], steps=[1, 1]).result
    back = [*range(axis), len(others), *range(axis, len(others))]
    sums = reshape(sums, [*others, extent])
    return sums if back == list(range(len(back))) else graph.Transpose.build(sums, permutation=back).result


def _by_lines(value: Any, axis: int, lines: int, count: int) -> Any:
    """The updates of every line in a row of a matrix."""
    rank = len(shape_of(value))
    order = [*(i for i in range(rank) if i != axis + 1), axis + 1]
    if order != list(range(rank)):
        value = graph.Transpose.build(value, permutation=order).result
    return reshape(value, [lines, 1, count])
