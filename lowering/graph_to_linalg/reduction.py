"""Reductions -> `linalg.fill` and a `linalg.generic` with one combining operation."""

import math as pymath
from collections.abc import Sequence

import numpy as np

from mnc.core.bindings import arith, ir, linalg, math
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.activation import exp
from mnc.lowering.graph_to_linalg.emit import (
    Body,
    constant,
    element_of,
    filled,
    generic,
    highest,
    is_float,
    lowest,
    pointwise,
    reduction,
    scalar,
    shape_of,
)
from mnc.lowering.graph_to_linalg.shape import reshaped
from mnc.lowering.graph_to_linalg.source import Handler, Source

EXACT_INTEGERS = int(2 / np.finfo(np.float32).eps)
"""Numbers of single precision hold all integers up to this one."""


def combine(kind: str, value: ir.Value, axes: Sequence[int], element: ir.Type) -> ir.Value:
    """Fold `axes` by ``sum``, ``prod``, ``max`` or ``min``; the axes vanish."""
    is_bool = isinstance(element, ir.IntegerType) and element.width == 1
    if is_bool:
        op_class = arith.OrIOp if kind == "max" else arith.AndIOp
        return reduction(value, axes, 0 if kind == "max" else 1, lambda a, b: op_class(a, b).result)
    operation, neutral = {
        "sum": (s.add, 0),
        "prod": (s.multiply, 1),
        "max": (s.maximum, lowest(element)),
        "min": (s.minimum, highest(element)),
    }[kind]
    return reduction(value, axes, neutral, lambda a, b: operation(a, b, element))


def each(value: ir.Value, body: Body) -> ir.Value:
    """Apply `body` to every element."""
    return pointwise([value], shape_of(value), element_of(value), body)


def divided_by(value: ir.Value, count: int, element: ir.Type) -> ir.Value:
    """value / count; for floats a multiplication, because the machine has no divider."""
    if is_float(element):
        return each(value, lambda a: s.multiply(a, scalar(1 / count, element), element))
    return each(value, lambda a: s.divide(a, scalar(count, element), element))


def _square_root(value: ir.Value, element: ir.Type) -> ir.Value:
    if is_float(element):
        return each(value, lambda a: math.SqrtOp(a).result)
    real = ir.F64Type.get()
    return each(value, lambda a: s.cast(math.SqrtOp(s.cast(a, element, real)).result, real, element))


def _logarithm(value: ir.Value, element: ir.Type) -> ir.Value:
    if is_float(element):
        return each(value, lambda a: math.LogOp(a).result)
    real = ir.F64Type.get()
    return each(value, lambda a: s.cast(math.LogOp(s.cast(a, element, real)).result, real, element))


def safe_maximum(value: ir.Value, axes: Sequence[int], element: ir.Type) -> ir.Value:
    """Maximum over `axes` limited to the finite numbers, so that subtracting it never gives inf - inf."""
    largest = _largest_finite(element)

    def limit(a: ir.Value) -> ir.Value:
        return s.minimum(s.maximum(a, scalar(-largest, element), element), scalar(largest, element), element)

    return each(combine("max", value, axes, element), limit)


def _largest_finite(element: ir.Type) -> float:
    name = str(element)
    return (
        3.3895313892515355e38 if name == "bf16" else float(np.finfo({"f16": "f2", "f32": "f4", "f64": "f8"}[name]).max)
    )


def spread(op: Body, value: ir.Value, folded: ir.Value, axes: Sequence[int]) -> ir.Value:
    """op(value, folded), where `folded` lacks `axes`."""
    shape = list(shape_of(value))
    with_ones = [1 if i in axes else extent for i, extent in enumerate(shape)]
    return pointwise([value, reshaped(folded, with_ones)], shape, element_of(value), op)


def _log_sum_exp(value: ir.Value, axes: Sequence[int], element: ir.Type) -> ir.Value:
    top = safe_maximum(value, axes, element)
    shifted = spread(lambda a, b: exp(s.subtract(a, b, element)), value, top, axes)
    total = combine("sum", shifted, axes, element)
    return pointwise([total, top], shape_of(total), element, lambda a, b: s.add(math.LogOp(a).result, b, element))


def folded(kind: str, value: ir.Value, axes: Sequence[int], element: ir.Type) -> ir.Value:
    """Any reduction kind of the graph dialect; the axes vanish."""
    count = pymath.prod(shape_of(value)[axis] for axis in axes)
    if kind in ("sum", "prod", "max", "min"):
        return combine(kind, value, axes, element)
    if kind == "mean":
        return divided_by(combine("sum", value, axes, element), max(count, 1), element)
    if kind == "l1":
        return combine("sum", each(value, lambda a: s.absolute(a, element)), axes, element)
    if kind in ("l2", "sum_square"):
        total = combine("sum", each(value, lambda a: s.multiply(a, a, element)), axes, element)
        return _square_root(total, element) if kind == "l2" else total
    if kind == "log_sum":
        return _logarithm(combine("sum", value, axes, element), element)
    if is_float(element):
        return _log_sum_exp(value, axes, element)
    real = ir.F64Type.get()
    widened = pointwise([value], shape_of(value), real, lambda a: s.cast(a, element, real))
    result = _log_sum_exp(widened, axes, real)
    return pointwise([result], shape_of(result), element, lambda a: s.cast(a, real, element))


def lower_reduce(source: Source, operand: ir.Value) -> ir.Value:
    """Fold, then give the kept dimensions of extent 1 back."""
    result = folded(source.text("kind"), operand, source.ints("axes"), source.element(0))
    return reshaped(result, source.result_shape())


def lower_arg_reduce(source: Source, operand: ir.Value) -> ir.Value:
    """Extremum, then the smallest (largest for ``select_last``) index that holds it.

    Three operations of canonical form instead of one with two results. Indices are floats as long as these hold all of
    them: the machine combines floats across processing elements, integers in one. A slice that holds a NaN gives an
    index within range, nothing more; ONNX leaves it open.
    """
    element, axis, last = source.element(0), source.int("axis"), source.bool("select_last")
    shape = list(shape_of(operand))
    extremum = combine(source.text("kind"), operand, [axis], element)
    i64 = ir.IntegerType.get_signless(64)
    number = ir.F32Type.get() if shape[axis] <= EXACT_INTEGERS else i64
    missing = 0 if last else shape[axis] - 1
    along = [extent if i == axis else 1 for i, extent in enumerate(shape)]
    order = np.arange(shape[axis], dtype=np.float32 if is_float(number) else np.int64)
    indices = constant(order.reshape(along), number)

    def candidate(a: ir.Value, best: ir.Value, index: ir.Value) -> ir.Value:
        return s.select(s.compare("eq", a, best, element), index, scalar(missing, number))

    with_one = [1 if i == axis else extent for i, extent in enumerate(shape)]
    candidates = pointwise([operand, reshaped(extremum, with_one), indices], shape, number, candidate)
    chosen = combine("max" if last else "min", candidates, [axis], number)
    chosen = pointwise([chosen], shape_of(chosen), i64, lambda a: s.cast(a, number, i64))
    return reshaped(chosen, source.result_shape())


def lower_cum_sum(source: Source, operand: ir.Value) -> ir.Value:
    """result[i] += operand[j] for every j up to i (from i on if ``reverse``; never j = i if ``exclusive``)."""
    element, axis, shape = source.element(0), source.int("axis"), list(shape_of(operand))
    rank = len(shape)
    init = filled(shape, element, 0)
    if source.bool("exclusive") and shape[axis] <= 1:
        return init  # sums of nothing
    predicate = (
        ("gt" if source.bool("reverse") else "lt")
        if source.bool("exclusive")
        else ("ge" if source.bool("reverse") else "le")
    )

    def body(a: ir.Value, total: ir.Value) -> ir.Value:
        i64 = ir.IntegerType.get_signless(64)
        i, j = (arith.IndexCastOp(i64, linalg.IndexOp(loop).result).result for loop in (axis, rank))
        return s.add(total, s.select(s.compare(predicate, j, i, i64), a, scalar(0, element)), element)

    reads = [rank if i == axis else i for i in range(rank)]
    return generic([operand], [reads, list(range(rank))], [init], "p" * rank + "r", body)


HANDLERS: dict[str, Handler] = {
    "graph.reduce": lower_reduce,
    "graph.arg_reduce": lower_arg_reduce,
    "graph.cum_sum": lower_cum_sum,
}
