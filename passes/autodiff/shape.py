"""Derivatives of operations that move elements: move the gradient back."""

import numpy as np

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint
from mnc.passes.autodiff.build import (
    Value,
    add,
    cast,
    constant,
    element_of,
    elements,
    mul,
    pad,
    reduce,
    reshape,
    shape_of,
    slice_,
    unbroadcast,
    where,
)
from mnc.passes.autodiff.build import transpose as transposed


def transpose(a: Adjoint) -> list[Value]:
    """The inverse permutation."""
    permutation = a.ints("permutation")
    return [transposed(a.gradient, [permutation.index(i) for i in range(len(permutation))])]


def reshaping(a: Adjoint) -> list[Value]:
    """The shape of the operand."""
    return [reshape(a.gradient, a.shape(0))]


def broadcast(a: Adjoint) -> list[Value]:
    """Sum over what was repeated."""
    return [unbroadcast(a.gradient, a.shape(0))]


def concat(a: Adjoint) -> list[Value | None]:
    """Each operand gets its slice."""
    axis, out, position = a.int("axis"), [], 0
    whole = shape_of(a.result)
    for i, wanted in enumerate(a.wanted):
        starts, limits = [0] * len(whole), list(whole)
        starts[axis], limits[axis] = position, position + a.shape(i)[axis]
        out.append(slice_(a.gradient, starts, limits) if wanted else None)
        position = limits[axis]
    return out


def _spread(value: Value, step: int, axis: int) -> Value:
    """Put ``step - 1`` zeros behind every element along one dimension."""
    shape = shape_of(value)
    low, high = [0] * (len(shape) + 1), [0] * (len(shape) + 1)
    high[axis + 1] = step - 1
    apart = pad(reshape(value, [*shape[: axis + 1], 1, *shape[axis + 1 :]]), low, high)
    return reshape(apart, [*shape[:axis], shape[axis] * step, *shape[axis + 1 :]])


def slicing(a: Adjoint) -> list[Value]:
    """Zeros around and between the elements that were taken."""
    g, extents = a.gradient, a.shape(0)
    starts, steps = a.ints("starts"), a.ints("steps")
    sizes = shape_of(g)
    if 0 in sizes:
        return [constant(np.zeros(extents), g)]
    backwards = [step < 0 for step in steps]
    if any(backwards):
        first = [size - 1 if back else 0 for size, back in zip(sizes, backwards, strict=True)]
        last = [-1 if back else size for size, back in zip(sizes, backwards, strict=True)]
        g = slice_(g, first, last, [-1 if back else 1 for back in backwards])
    low, high = [], []
    for axis, (start, step, size) in enumerate(zip(starts, steps, sizes, strict=True)):
        lowest = start if step > 0 else start + step * (size - 1)
        if abs(step) > 1 and size > 1:
            g = _spread(g, abs(step), axis)
            g = slice_(g, [0] * len(sizes), [1 + (size - 1) * abs(step) if i == axis else e
                                             for i, e in enumerate(shape_of(g))])  # fmt: skip
        low.append(lowest)
        high.append(extents[axis] - lowest - shape_of(g)[axis])
    return [pad(g, low, high)]


def padding(a: Adjoint) -> list[Value]:
    """Cut the padding off. Other modes than constant repeat elements, whose gradients add up."""
    if a.text("mode") != "constant":
        raise a.error(f"padding of mode {a.text('mode')} has no rule for differentiation", "pad with a constant")
    low = a.ints("low")
    limits = [before + extent for before, extent in zip(low, a.shape(0), strict=True)]
    return [slice_(a.gradient, low, limits)]


def _hits(indices: Value, shape: list[int], extent: int, like: Value) -> Value:
    """Ones where an index is that of a row of a table of `extent` rows; `shape` ends in [1, number of indices]."""
    flat = reshape(indices, shape)
    negative = graph.Less.build(flat, constant(0, flat)).result
    wrapped = where(negative, add(flat, constant(extent, flat)), flat)
    classes = constant(np.arange(extent).reshape(extent, 1), flat)
    return cast(graph.Equal.build(wrapped, classes).result, element_of(like))


def gather(a: Adjoint) -> list[Value | None]:
    """Rows of the gradient added up by index: the product of a one-hot matrix with it."""
    axis, shape, (_, indices) = a.int("axis"), a.shape(0), a.operands
    before, extent, after = elements(shape[:axis]), shape[axis], elements(shape[axis + 1 :])
    count = elements(a.shape(1))
    g = reshape(a.gradient, [before, count, after])
    hits = _hits(indices, [1, count], extent, g)
    return [reshape(graph.MatMul.build(hits, g).result, shape), None]


def batch_gather(a: Adjoint) -> list[Value | None]:
    """The same for every element of the first dimensions; single elements are added up without a product."""
    axis, batch, shape, (_, indices) = a.int("axis"), a.int("batch_dims"), a.shape(0), a.operands
    lines, before, after = (elements(part) for part in (shape[:batch], shape[batch:axis], shape[axis + 1 :]))
    extent, count = shape[axis], elements(a.shape(1)[batch:])
    if before * after == 1:
        g = reshape(a.gradient, [lines, 1, count])
        spread = mul(_hits(indices, [lines, 1, count], extent, g), g)
        return [reshape(reduce(spread, [2]), shape), None]
    g = reshape(a.gradient, [lines, before, count, after])
    hits = _hits(indices, [lines, 1, 1, count], extent, g)
    return [reshape(graph.MatMul.build(hits, g).result, shape), None]
