"""Contractions -> `linalg.fill` and a multiply-add `linalg.generic`."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.emit import (
    broadcast_map,
    element_of,
    filled,
    generic,
    pointwise,
    scalar,
)
from mnc.lowering.graph_to_linalg.source import Handler, Source


def multiply_add(
    lhs: ir.Value, rhs: ir.Value, maps: Sequence[Sequence[Any]], shape: Sequence[int], iterators: str
) -> ir.Value:
    """result += lhs * rhs over the loops, from a zero-filled tensor of `shape`."""
    element = element_of(lhs)

    def body(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        return s.add(total, s.multiply(a, b, element), element)

    return generic([lhs, rhs], maps, [filled(shape, element, 0)], iterators, body)


def lower_matmul(source: Source, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Loops: batch..., m, n (parallel), k (reduction); a 1-D operand lacks its m or n."""
    left, right = source.shape(0), source.shape(1)
    rows, columns = len(left) > 1, len(right) > 1
    shape = source.result_shape()
    batch = shape[: len(shape) - rows - columns]
    k = len(shape)
    left_map = broadcast_map(left[:-2], batch) + ([len(batch)] if rows else []) + [k]
    right_map = broadcast_map(right[:-2], batch) + [k] + ([k - 1] if columns else [])
    return multiply_add(lhs, rhs, [left_map, right_map, list(range(k))], shape, "p" * k + "r")


def lower_gemm(source: Source, a: ir.Value, b: ir.Value, c: ir.Value | None = None) -> ir.Value:
    """alpha * A' B' + beta * c; transposition is in the indexing maps, alpha = 1 and beta = 1 cost nothing."""
    element, shape = source.element(0), source.result_shape()
    maps = [[2, 0] if source.bool("transA") else [0, 2], [1, 2] if source.bool("transB") else [2, 1], [0, 1]]
    result = multiply_add(a, b, maps, shape, "ppr")
    alpha, beta = source.real("alpha"), source.real("beta")

    def scaled(value: ir.Value, factor: float) -> ir.Value:
        return value if factor == 1 else s.multiply(value, scalar(factor, element), element)

    if c is None:
        return result if alpha == 1 else pointwise([result], shape, element, lambda x: scaled(x, alpha))
    return pointwise([result, c], shape, element, lambda x, y: s.add(scaled(x, alpha), scaled(y, beta), element))


HANDLERS: dict[str, Handler] = {"graph.matmul": lower_matmul, "graph.gemm": lower_gemm}
