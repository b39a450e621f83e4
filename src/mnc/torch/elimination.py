"""Small systems of linear equations, solved row by row: what an unrolled elimination is right for."""

from dataclasses import dataclass

import torch

MOST_ROWS = 16
"""Of a matrix whose elimination is written out, with about 12 operations for a row."""


@dataclass(frozen=True)
class Eliminated:
    """A system [..., n, n + m] after its elimination.

    Attributes:
        solution: [..., n, m].
        pivots: of each row, [..., n].
        rows: where they were found, [..., n].
    """

    solution: torch.Tensor
    pivots: torch.Tensor
    rows: torch.Tensor

    def sign(self) -> torch.Tensor:
        """Of the determinant, [...]."""
        ahead = torch.ones(self.rows.shape[-1], self.rows.shape[-1], dtype=torch.bool).triu(1)
        swapped = (self.rows.unsqueeze(-1) > self.rows.unsqueeze(-2)) & ahead
        odd = swapped.to(self.pivots.dtype).sum((-1, -2)).remainder(2)
        return self.pivots.sign().prod(-1) * (1 - 2 * odd)


def eliminate(matrix: torch.Tensor, right: torch.Tensor) -> Eliminated:
    """Gauss-Jordan elimination of ``matrix @ x = right``, [..., n, n] and [..., n, m], by the largest pivot of each
    column, whose choice has no gradient."""
    count = matrix.shape[-1]
    table = torch.cat([matrix, right], -1)
    free = torch.ones_like(matrix[..., 0], dtype=torch.bool)
    chosen, pivots, rows = [], [], []
    for k in range(count):
        column = table[..., k]
        row = torch.where(free, column.detach().abs(), -1.0).argmax(-1)
        is_row = torch.arange(count) == row.unsqueeze(-1)
        free = free & ~is_row
        one = is_row.to(table.dtype).unsqueeze(-2)
        found = one @ table
        pivot = found[..., k : k + 1]
        found = found / pivot
        table = torch.where(is_row.unsqueeze(-1), found, table - column.unsqueeze(-1) * found)
        chosen.append(one)
        pivots.append(pivot[..., 0, 0])
        rows.append(row)
    solution = torch.cat(chosen, -2) @ table[..., count:]
    return Eliminated(solution, torch.stack(pivots, -1), torch.stack(rows, -1))


def is_small(matrix: torch.Tensor) -> bool:
    """Whether an elimination of a matrix [..., n, n] is written out."""
    return matrix.dim() > 1 and matrix.shape[-1] == matrix.shape[-2] and 0 < matrix.shape[-1] <= MOST_ROWS
