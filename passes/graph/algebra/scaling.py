"""Constant factors around a contraction move into its constant weights."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, Refusal, attributes_of, location_of_all, refuse
from mnc.passes.graph.algebra.common import SIGN_OF_ZERO, build, operands_of, replace, representable, result_of, wide
from mnc.passes.graph.matching import (
    constant,
    constant_of,
    has_one_use,
    is_constant,
    is_float,
    producer,
    rebuilt,
    shape_of,
    size_of,
    splat_of,
)
from mnc.passes.graph.ranges import sign_of_zero_is_seen

_WEIGHTS = {"matmul": 1, "conv": 1}


def aligned(factor: np.ndarray, rank: int) -> np.ndarray:
    """`factor` with leading extents of 1 up to `rank`."""
    return factor.reshape((1,) * (rank - factor.ndim) + factor.shape)


def per_weight(kind: str, factor: np.ndarray, result: ir.Value, weight: ir.Value) -> np.ndarray | Refusal:
    """A factor of the result as a factor of the weight: a scalar, or one number per output channel."""
    shape, weights = shape_of(result), shape_of(weight)
    if factor.size == 1:
        return factor.reshape(())
    if factor.ndim > len(shape):
        return refuse("the factor broadcasts the result")
    full = aligned(factor, len(shape))
    channel = len(shape) - 1 if kind == "matmul" else 1
    if full.size != full.shape[channel] or full.shape[channel] != shape[channel] or len(weights) < 2:
        return refuse("the factor varies along more than the output channels")
    return full.reshape(-1) if kind == "matmul" else full.reshape(-1, *[1] * (len(weights) - 1))


def scaled(weight: ir.Value, factor: np.ndarray) -> np.ndarray | Refusal:
    """weight * factor, or why not."""
    array = constant_of(weight)
    if array is None:
        return refuse("the weight is not a constant")
    with np.errstate(all="ignore"):
        product = wide(array) * wide(factor)
    if product.shape != array.shape or not representable(product, weight):
        return refuse("a scaled weight overflows or underflows")
    return product


class ScaledResult(Pattern):
    """``(x @ w) * c -> x @ (w * c)`` and ``(x @ w + b) * c -> x @ (w * c) + b * c``; the same for conv."""

    root = "graph.mul"

    def match(self, op: Any) -> Any:
        value, factor = operands_of(op)[0], constant_of(operands_of(op)[1])
        if factor is None or not is_float(value):
            return None
        bias = None
        shifted = producer(value, "add")
        if shifted is not None and is_constant(operands_of(shifted)[1]):
            bias = operands_of(shifted)[1]
            inner_value = operands_of(shifted)[0]
        else:
            inner_value = value
        inner = producer(inner_value, *_WEIGHTS)
        if inner is None or not is_constant(operands_of(inner)[1]):
            return None
        if shape_of(result_of(op)) != shape_of(inner_value):
            return refuse("the factor or the bias broadcasts the result")
        if not (has_one_use(value) and has_one_use(inner_value)):
            return refuse("the unscaled result has other uses")
        if np.any(factor.astype(np.float64) < 0) and sign_of_zero_is_seen(result_of(op)):
            return refuse(SIGN_OF_ZERO)
        kind = inner.operation.name.removeprefix("graph.")
        per = per_weight(kind, factor, inner_value, operands_of(inner)[1])
        weight = per if isinstance(per, Refusal) else scaled(operands_of(inner)[1], per)
        return weight if isinstance(weight, Refusal) else (inner, weight, bias)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        inner, weight, bias = match
        x, old, *own_bias = operands_of(inner)
        made = constant(weight, like=old)
        name_after_weight_of(old, made, "mul")
        factor = operands_of(op)[1]
        biases = [build("mul", b, _channel_vector(factor, b)) for b in own_bias]
        with location_of_all(inner, op):
            result = rebuilt(inner, x, made, *biases)
        if bias is not None:
            result = build("add", result, build("mul", bias, factor))
        replace(op, result, rewriter)


def _channel_vector(factor: ir.Value, bias: ir.Value) -> ir.Value:
    """The factor of a conv result (one number per channel) in the shape of its bias."""
    array = constant_of(factor)
    assert array is not None
    return constant(np.broadcast_to(array.reshape(-1), shape_of(bias)), like=bias)


def name_after_weight_of(old: ir.Value, made: ir.Value, kind: str) -> None:
    """Name `made` after the weight `old` if that has a name."""
    attributes = attributes_of(old.owner)
    if "onnx.name" in attributes:
        text = f"{ir.StringAttr(attributes['onnx.name']).value}.{kind}"
        made.owner.operation.attributes["onnx.name"] = ir.StringAttr.get(text)


class ScaledOperand(Pattern):
    """``(x * c) @ w -> x @ (w * c)`` for a scalar c; the same for conv."""

    def __init__(self, root: str) -> None:
        self.root = f"graph.{root}"  # pyright: ignore[reportAttributeAccessIssue]

    def match(self, op: Any) -> Any:
        data, weight = operands_of(op)[:2]
        product = producer(data, "mul")
        factor = None if product is None else constant_of(operands_of(product)[1])
        if product is None or factor is None or not is_constant(weight) or not is_float(data):
            return None
        if factor.size != 1:
            return refuse("the factor varies along the contracted dimension or broadcasts the operand")
        if shape_of(operands_of(product)[0]) != shape_of(data):
            return refuse("the factor broadcasts the operand")
        if not has_one_use(data):
            return refuse("the scaled operand has other uses")
        array = scaled(weight, factor.reshape(()))
        return array if isinstance(array, Refusal) else (operands_of(product)[0], array)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, array = match
        _, weight, *rest = operands_of(op)
        made = constant(array, like=weight)
        name_after_weight_of(weight, made, "mul")
        rewriter.replace_op(op, [rebuilt(op, x, made, *rest)])


class NormalisedRows(Pattern):
    """``softmax(x) @ v``: ``(p * r) @ v -> (p @ v) * r`` for ``p = exp(x - max)`` and ``r = 1 / sum(p)``, where that
    takes fewer multiplications. Elements of p are at most 1, so nothing overflows that did not before."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        weights, values = operands_of(op)
        product = producer(weights, "mul")
        if product is None or not is_float(weights):
            return None
        powers, factor = operands_of(product)
        if not _is_normalisation(powers, factor) or shape_of(factor)[-1] != 1:
            return None
        if not has_one_use(weights):
            return refuse("the normalised rows have other uses")
        if size_of(result_of(op)) >= size_of(weights) or len(shape_of(result_of(op))) != len(shape_of(weights)):
            return refuse("the result has more elements than the rows")
        return powers, values, factor

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        powers, values, factor = match
        with location_of_all(op, operands_of(op)[0].owner.operation):
            replace(op, build("mul", rebuilt(op, powers, values), factor), rewriter)


def _is_normalisation(powers: ir.Value, factor: ir.Value) -> bool:
    """Whether `powers` are exponentials of numbers that are not positive, and `factor` divides by their sum."""
    inverse, exponential = producer(factor, "reciprocal"), producer(powers, "exp")
    if inverse is None or exponential is None:
        return False
    total = producer(operands_of(inverse)[0], "reduce")
    shifted = producer(operands_of(exponential)[0], "sub")
    scale = producer(operands_of(exponential)[0], "mul")
    if shifted is None and scale is not None:
        number = splat_of(operands_of(scale)[1])
        shifted = producer(operands_of(scale)[0], "sub") if number is not None and number > 0 else None
    if total is None or shifted is None:
        return False
    x, top = operands_of(shifted)
    limited = producer(top, "clip")
    maximum = producer(top if limited is None else operands_of(limited)[0], "reduce")
    return _is_along_rows(total, "sum", powers) and maximum is not None and _is_along_rows(maximum, "max", x)


def _is_along_rows(reduction: Any, kind: str, operand: ir.Value) -> bool:
    attributes = attributes_of(reduction)
    last = len(shape_of(operand)) - 1
    is_kind = ir.StringAttr(attributes["kind"]).value == kind
    return is_kind and operands_of(reduction)[0] == operand and list(attributes["axes"]) == [last]


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [ScaledResult(), ScaledOperand("matmul"), ScaledOperand("conv"), NormalisedRows()]
