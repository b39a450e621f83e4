"""Gemm."""

from collections.abc import Mapping
from typing import Any

from mnc.core.bindings import ir
from mnc.passes.graph.decomposition.build import Handler, flag, real, value


def gemm(op: Any) -> list[ir.Value]:
    """``alpha * (A' @ B') + beta * c``: transpositions and factors that do nothing are left out."""
    a, b, *rest = op.operation.operands
    a = value("transpose", a, permutation=[1, 0]) if flag(op, "transA") else a
    b = value("transpose", b, permutation=[1, 0]) if flag(op, "transB") else b
    alpha, beta = real(op, "alpha"), real(op, "beta")
    result = value("matmul", a, b)
    result = result if alpha == 1 else value("mul", result, alpha)
    for c in rest:
        result = value("add", result, c if beta == 1 else value("mul", c, beta))
    return [result]


HANDLERS: Mapping[str, Handler] = {"gemm": gemm}
