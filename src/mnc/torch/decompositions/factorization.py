"""Inverses, Cholesky factors and triangular systems of small matrices, written out row by row."""

from typing import Any

import torch

from mnc.torch.elimination import eliminate, is_small

_aten = torch.ops.aten


def _info(matrix: torch.Tensor) -> torch.Tensor:
    """That nothing failed, which a graph cannot tell."""
    return torch.zeros(matrix.shape[:-2], dtype=torch.int32)


def _unit(count: int, like: torch.Tensor) -> torch.Tensor:
    return torch.eye(count, dtype=like.dtype)


def inverse(A: torch.Tensor, *, check_errors: bool = False) -> Any:
    """``aten.linalg_inv_ex``."""
    if not is_small(A):
        return NotImplemented
    return eliminate(A, _unit(A.shape[-1], A).expand(A.shape)).solution, _info(A)


def cholesky(self: torch.Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """``aten.linalg_cholesky_ex``: column by column, of the lower (or upper) part."""
    if not is_small(self):
        return NotImplemented
    matrix = self.transpose(-1, -2) if upper else self
    columns: list[torch.Tensor] = []
    for k in range(matrix.shape[-1]):
        rest = matrix[..., k:, k]
        if columns:
            before = torch.stack([column[..., k:] for column in columns], -1)
            rest = rest - (before @ before[..., :1, :].transpose(-1, -2)).squeeze(-1)
        column = rest * rest[..., :1].rsqrt()
        columns.append(torch.nn.functional.pad(column, (k, 0)))
    factor = torch.stack(columns, -1)
    return (factor.transpose(-1, -2) if upper else factor), _info(self)


def solve_triangular(
    self: torch.Tensor, B: torch.Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """``aten.linalg_solve_triangular``: by substitution, which reads one half of the matrix."""
    if not is_small(self):
        return NotImplemented
    if not left:
        found = solve_triangular(
            self.transpose(-1, -2), B.transpose(-1, -2), upper=not upper, unitriangular=unitriangular
        )
        return found.transpose(-1, -2)
    count = self.shape[-1]
    rows: list[torch.Tensor] = []
    order = list(reversed(range(count))) if upper else list(range(count))
    for k in order:
        row = B[..., k : k + 1, :]
        if rows:
            known = self[..., k : k + 1, k + 1 :] if upper else self[..., k : k + 1, :k]
            row = row - known @ torch.cat(rows[::-1] if upper else rows, -2)
        elif self.dim() > B.dim():
            row = row.expand(*self.shape[:-2], *row.shape[-2:])
        rows.append(row if unitriangular else row / self[..., k : k + 1, k : k + 1])
    return torch.cat(rows[::-1] if upper else rows, -2)


def cholesky_solve(self: torch.Tensor, input2: torch.Tensor, upper: bool = False) -> Any:
    """``aten.cholesky_solve``: two triangular systems."""
    if not is_small(input2):
        return NotImplemented
    lower = input2.transpose(-1, -2) if upper else input2
    first = solve_triangular(lower, self, upper=False)
    return solve_triangular(lower.transpose(-1, -2), first, upper=True)


def cholesky_inverse(self: torch.Tensor, upper: bool = False) -> Any:
    """``aten.cholesky_inverse``."""
    return cholesky_solve(_unit(self.shape[-1], self).expand(self.shape), self, upper)


def _old_cholesky(self: torch.Tensor, upper: bool = False) -> Any:
    found = cholesky(self, upper=upper)
    return found if found is NotImplemented else found[0]


def _triangular_solve(
    self: torch.Tensor, A: torch.Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    if not is_small(A):
        return NotImplemented
    turned = A.transpose(-1, -2) if transpose else A
    return solve_triangular(turned, self, upper=upper != transpose, unitriangular=unitriangular), A.clone()


DECOMPOSITIONS = {
    _aten.cholesky.default: _old_cholesky,
    _aten.triangular_solve.default: _triangular_solve,
    _aten.cholesky_inverse.default: cholesky_inverse,
    _aten.cholesky_solve.default: cholesky_solve,
    _aten.linalg_cholesky_ex.default: cholesky,
    _aten.linalg_inv_ex.default: inverse,
    _aten.linalg_solve_triangular.default: solve_triangular,
}
