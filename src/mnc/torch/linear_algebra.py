"""Functions of small matrices that have gradients without the factors which torch takes."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from mnc.core.diagnostics import CompileError
from mnc.torch.elimination import MOST_ROWS, eliminate, is_small

_MOST_EXPANDED = 4
"""Rows of a determinant that is expanded: 9 products for 3 rows, 40 for 4, 205 for 5."""
_MOST_WHOLE = 6
"""Rows of a determinant that is one operator of the graph, which has no gradient."""


def _determinant(A: torch.Tensor, **options: Any) -> torch.Tensor:
    """Of [..., n, n]."""
    if A.requires_grad and A.dim() > 1 and A.shape[-1] > MOST_ROWS:
        message = f"the gradient of a determinant of {A.shape[-1]} rows takes singular values, which are not compiled"
        raise CompileError(message, hint=f"determinants of up to {MOST_ROWS} rows have gradients")
    if options or not is_small(A) or (A.shape[-1] <= _MOST_WHOLE and not A.requires_grad):
        return torch.linalg.det(A, **options)
    if A.shape[-1] <= _MOST_EXPANDED:
        return _by_first_row(A)
    found = eliminate(A, A[..., :0])
    return found.pivots.abs().prod(-1) * found.sign()


def _by_first_row(matrix: torch.Tensor) -> torch.Tensor:
    if matrix.shape[-1] == 1:
        return matrix[..., 0, 0]
    rest = [torch.cat([matrix[..., 1:, :i], matrix[..., 1:, i + 1 :]], -1) for i in range(matrix.shape[-1])]
    terms = [matrix[..., 0, i] * _by_first_row(part) for i, part in enumerate(rest)]
    return torch.stack(terms[::2], -1).sum(-1) - torch.stack(terms[1::2], -1).sum(-1)


def _slogdet(A: torch.Tensor, **options: Any) -> Any:
    if options or not is_small(A):
        return torch.linalg.slogdet(A, **options)
    found = eliminate(A, A[..., :0])
    pair = found.sign(), found.pivots.abs().log().sum(-1)
    return torch.return_types.linalg_slogdet(pair)  # pyright: ignore[reportAttributeAccessIssue]


def _logdet(input: torch.Tensor) -> torch.Tensor:
    if not is_small(input):
        return torch.logdet(input)
    sign, size = _slogdet(input)
    return torch.where(sign < 0, torch.nan, size)


def _solve(A: torch.Tensor, B: torch.Tensor, *, left: bool = True, **options: Any) -> torch.Tensor:
    """By the inverse, whose gradient takes nothing but products."""
    torch.linalg.solve(A.detach(), B.detach(), left=left, **options)  # refuses what torch refuses
    if options or not is_small(A):
        return torch.linalg.solve(A, B, left=left, **options)
    inverse = torch.linalg.inv(A)
    is_vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])
    if is_vector:
        return (inverse @ B.unsqueeze(-1)).squeeze(-1) if left else (B.unsqueeze(-2) @ inverse).squeeze(-2)
    return inverse @ B if left else B @ inverse


def _solve_ex(A: torch.Tensor, B: torch.Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Without a look whether it failed."""
    if not is_small(A):
        return torch.linalg.solve_ex(A, B, left=left, check_errors=check_errors)
    pair = _solve(A, B, left=left), torch.zeros(A.shape[:-2], dtype=torch.int32)
    return torch.return_types.linalg_solve_ex(pair)  # pyright: ignore[reportAttributeAccessIssue]


def _lstsq(A: torch.Tensor, B: torch.Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Of matrices of full rank, by orthogonal factors; the shortest of all solutions of wide ones."""
    del rcond  # which tells the rank
    is_tall = A.shape[-2] >= A.shape[-1]
    count = min(A.shape[-2:])
    columns = B.unsqueeze(-1) if B.dim() < A.dim() else B
    if is_tall:
        q, r = torch.linalg.qr(A)
        solution = torch.linalg.solve_triangular(r, q.transpose(-1, -2) @ columns, upper=True)
    else:
        q, r = torch.linalg.qr(A.transpose(-1, -2))
        solution = q @ torch.linalg.solve_triangular(r.transpose(-1, -2), columns, upper=False)
    tells_rest = A.shape[-2] > A.shape[-1] and driver not in (None, "gelsy")
    rest = (A @ solution - columns).square().sum(-2) if tells_rest else A.new_zeros(0)
    solution = solution.squeeze(-1) if B.dim() < A.dim() else solution
    rank = torch.full(A.shape[:-2], count, dtype=torch.int64)
    parts = solution, rest, rank, A.new_zeros(0)
    return torch.return_types.linalg_lstsq(parts)  # pyright: ignore[reportAttributeAccessIssue]


FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    **dict.fromkeys((torch.det, torch.linalg.det, torch.Tensor.det), _determinant),
    **dict.fromkeys((torch.slogdet, torch.linalg.slogdet, torch.Tensor.slogdet), _slogdet),
    **dict.fromkeys((torch.logdet, torch.Tensor.logdet), _logdet),
    torch.linalg.solve: _solve,
    torch.linalg.solve_ex: _solve_ex,
    torch.linalg.lstsq: _lstsq,
}
"""Function of torch -> the one that takes its place."""
