"""Derivatives of matrix products."""

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint
from mnc.passes.autodiff.build import Value, reshape, scale, shape_of, swap_last, unbroadcast


def _product(a: Value, b: Value, transpose_a: bool, transpose_b: bool, alpha: float = 1.0) -> Value:
    """Product of matrices, transposed by flag: no data are moved for it."""
    return graph.Gemm.build(a, b, alpha=alpha, beta=1.0, transA=transpose_a, transB=transpose_b).result


def gemm(a: Adjoint) -> list[Value | None]:
    """For Y = alpha A' B' + beta C: dA' = alpha dY B'^T, dB' = alpha A'^T dY, dC = beta dY."""
    g, (lhs, rhs) = a.gradient, a.operands[:2]
    trans_a, trans_b, alpha = a.bool("transA"), a.bool("transB"), a.real("alpha")
    left = right = None
    if a.wanted[0]:
        left = _product(rhs, g, trans_b, True, alpha) if trans_a else _product(g, rhs, False, not trans_b, alpha)
    if a.wanted[1]:
        right = _product(g, lhs, True, trans_a, alpha) if trans_b else _product(lhs, g, not trans_a, False, alpha)
    out = [left, right]
    if len(a.operands) == 3:
        out.append(scale(unbroadcast(g, a.shape(2)), a.real("beta")) if a.wanted[2] else None)
    return out


def matmul(a: Adjoint) -> list[Value | None]:
    """dA = dY B^T and dB = A^T dY over the last two dimensions, summed over repeated leading ones."""
    lhs, rhs = a.operands
    left_shape, right_shape = a.shape(0), a.shape(1)
    # A 1-D operand is a row or a column, and its added dimension is missing in the gradient.
    rows = [1, *left_shape] if len(left_shape) == 1 else left_shape
    columns = [*right_shape, 1] if len(right_shape) == 1 else right_shape
    batch = shape_of(a.result)
    batch = batch[: len(batch) - (len(left_shape) > 1) - (len(right_shape) > 1)]
    g = reshape(a.gradient, [*batch, rows[-2], columns[-1]])
    lhs, rhs = reshape(lhs, rows), reshape(rhs, columns)
    left = right = None
    if not batch:
        left = _product(g, rhs, False, True) if a.wanted[0] else None
        right = _product(lhs, g, True, False) if a.wanted[1] else None
    else:
        left = graph.MatMul.build(g, swap_last(rhs)).result if a.wanted[0] else None
        right = graph.MatMul.build(swap_last(lhs), g).result if a.wanted[1] else None
    return [
        None if left is None else reshape(unbroadcast(left, rows), left_shape),
        None if right is None else reshape(unbroadcast(right, columns), right_shape),
    ]
