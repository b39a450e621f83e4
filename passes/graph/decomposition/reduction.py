"""Kinds of reduction beyond sum, product, maximum and minimum; softmax."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Refusal, refuse
from mnc.dialects import graph
from mnc.passes.graph.decomposition.build import Handler, flag, integer, largest_finite, reduced, value
from mnc.passes.graph.decomposition.stages import in_stages, needs_stages, running_sum
from mnc.passes.graph.matching import (
    broadcast_to,
    has_one_use,
    is_float,
    producer,
    reshaped,
    shape_of,
    splat_of,
)


def finite_maximum(operand: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Maximum along `axes` limited to finite numbers: subtracting it never gives infinity minus infinity."""
    limit = largest_finite(operand)
    return value("clip", reduced("max", operand, axes), min=-limit, max=limit)


def mean(operand: ir.Value, axes: Sequence[int]) -> ir.Value:
    """sum * (1 / n), with the dimensions kept: at most 1.5 ulp from the quotient, which the sum's rounding exceeds."""
    count = max(1, math.prod(shape_of(operand)[axis] for axis in axes))
    return value("mul", reduced("sum", operand, axes), 1 / count)


def _log_sum_exp(operand: ir.Value, axes: Sequence[int]) -> ir.Value:
    top = finite_maximum(operand, axes)
    total = reduced("sum", value("exp", value("sub", operand, top)), axes)
    return value("add", value("log", total), top)


def _sum_square(operand: ir.Value, axes: Sequence[int]) -> ir.Value:
    return reduced("sum", value("mul", operand, operand), axes)


_KINDS = {
    "mean": mean,
    "l1": lambda x, axes: reduced("sum", value("abs", x), axes),
    "l2": lambda x, axes: value("sqrt", _sum_square(x, axes)),
    "sum_square": _sum_square,
    "log_sum": lambda x, axes: value("log", reduced("sum", x, axes)),
    "log_sum_exp": _log_sum_exp,
}


def reduce(op: Any) -> list[ir.Value] | Refusal | None:
    """Composite kinds in terms of sum and maximum; the others are primitive, and long ones have two stages."""
    kind = ir.StringAttr(op.operation.attributes["kind"]).value
    operand, axes = op.operation.operands[0], list(op.operation.attributes["axes"])
    if kind not in _KINDS:
        if not needs_stages(kind, operand, axes):
            return None
        return [reshaped(in_stages(kind, operand, axes), shape_of(op.operation.results[0]))]
    if not is_float(operand):
        return refuse("on integers it is rounded toward zero in the end")
    result = _KINDS[kind](operand, axes)
    return [reshaped(result, shape_of(op.operation.results[0]))]


def arg_reduce(op: Any) -> list[ir.Value] | None:
    """The index of the largest integer of a long dimension is that of the first place that is equal to the maximum."""
    kind, axis = ir.StringAttr(op.operation.attributes["kind"]).value, integer(op, "axis")
    operand = op.operation.operands[0]
    if is_float(operand) or not needs_stages(kind, operand, [axis]):
        return None
    equal = value("equal", operand, reduced(kind, operand, [axis]))
    there = value("cast", equal, result_type=graph.tensor(list(shape_of(operand)), ir.F32Type.get()))
    flags = {name: flag(op, name) for name in ("keepdims", "select_last")}
    return [value("arg_reduce", there, kind="max", axis=axis, **flags)]


def _shifted(op: Any) -> tuple[ir.Value, list[int]]:
    """The operand minus its maximum. A factor in front, as attention has it, comes behind the difference: there the
    exponential takes it."""
    operand, axes = op.operation.operands[0], [integer(op, "axis")]
    inner, factor = _without_factor(operand)
    shifted = value("sub", inner, finite_maximum(inner, axes))
    return shifted if factor is None else value("mul", shifted, factor), axes


def _without_factor(operand: ir.Value) -> tuple[ir.Value, ir.Value | None]:
    """x and c of a product with one positive number, whose maximum is that of x times c."""
    product = producer(operand, "mul")
    if product is None or not has_one_use(operand):
        return operand, None
    x, c = product.operation.operands
    number = splat_of(c)
    is_plain = number is not None and shape_of(x) == shape_of(operand) and 0 < float(number) < math.inf
    return (x, c) if is_plain else (operand, None)


def _is_used_by(op: Any, name: str) -> bool:
    return any(use.owner.operation.name == f"graph.{name}" for use in op.operation.results[0].uses)


def softmax(op: Any) -> list[ir.Value] | Refusal:
    """``exp(x - max) * reciprocal(sum)``: nothing overflows, and the product is at most 1.5 ulp from a quotient."""
    if op.operation.name == "graph.softmax" and _is_used_by(op, "is_nan"):
        return refuse("the question for its NaN comes first")
    shifted, axes = _shifted(op)
    powers = value("exp", shifted)
    return [value("mul", powers, value("reciprocal", reduced("sum", powers, axes)))]


def log_softmax(op: Any) -> list[ir.Value] | Refusal:
    """``x - max - log(sum of exp(x - max))``."""
    if _is_used_by(op, "exp"):
        return refuse("its exponential is a softmax, which comes first")
    shifted, axes = _shifted(op)
    return [value("sub", shifted, value("log", reduced("sum", value("exp", shifted), axes)))]


def exp(op: Any) -> list[ir.Value] | Refusal | None:
    """The exponential of a log-softmax, which gradients of a cross entropy ask for, shares the sum with it."""
    owner = op.operation.operands[0].owner
    if isinstance(owner, ir.Block) or owner.name != "graph.log_softmax":
        return None
    return softmax(owner)


def is_nan(op: Any) -> list[ir.Value] | None:
    """Of a softmax: exporters ask for it to clear rows that a mask hides in full, whose largest element is -inf. The
    machine has no NaN that would tell (OPEN-25)."""
    owner = op.operation.operands[0].owner
    if isinstance(owner, ir.Block) or owner.name != "graph.softmax":
        return None
    operand = owner.operands[0]
    top = reduced("max", operand, [integer(owner, "axis")])
    hidden = value("equal", value("abs", top), math.inf)
    return [broadcast_to(hidden, shape_of(operand))]


HANDLERS: Mapping[str, Handler] = {
    "reduce": reduce,
    "arg_reduce": arg_reduce,
    "cum_sum": running_sum,
    "is_nan": is_nan,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "exp": exp,
}
