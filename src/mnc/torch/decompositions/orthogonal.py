"""Orthogonal factors by reflections, column by column, and exponentials of matrices."""

import math
from typing import Any

import torch

from mnc.torch.elimination import MOST_ROWS

_aten = torch.ops.aten

_SMALL_NORM = 0.5
_SQUARINGS = 10
"""Matrices of norm up to _SMALL_NORM * 2**_SQUARINGS have an exact exponential; more is infinity in most."""
_POWERS = 3


def qr(A: torch.Tensor, mode: str = "reduced") -> Any:
    """``aten.linalg_qr`` of [..., m, n], with the signs that LAPACK's reflections give."""
    height, width = A.shape[-2:]
    count = min(height, width)
    if not 0 < count <= MOST_ROWS:
        return NotImplemented
    rows, reflections, rest = [], [], A
    for k in range(count):
        if k < height - 1:
            vector, factor = _reflection(rest[..., :, :1])
            reflections.append((vector, factor))
            rest = _reflected(rest, vector, factor)
        rows.append(torch.nn.functional.pad(rest[..., :1, :], (k, 0)))
        rest = rest[..., 1:, 1:]
    if mode == "r":
        return A.new_zeros(0), torch.cat(rows, -2)
    upper = torch.cat(rows, -2)
    wide = height if mode == "complete" else count
    if wide > count:
        upper = torch.nn.functional.pad(upper, (0, 0, 0, wide - count))
    return _product(reflections, height, wide, A), upper


def _reflection(column: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """v [..., m, 1] and t [..., 1, 1] of ``1 - t * v * v'``, which leaves the first element of a column only."""
    first, others = column[..., :1, :], column[..., 1:, :]
    square = (others * others).sum(-2, keepdim=True)
    length = (first * first + square).sqrt()
    left = torch.where(first < 0, length, -length)
    is_done = square == 0
    divisor = torch.where(is_done, 1.0, first - left)
    factor = torch.where(is_done, 0.0, (left - first) / torch.where(is_done, 1.0, left))
    return torch.cat([torch.ones_like(first), others / divisor], -2), factor


def _reflected(matrix: torch.Tensor, vector: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    return matrix - (factor * vector) @ (vector.transpose(-1, -2) @ matrix)


def _product(reflections: list[Any], height: int, width: int, like: torch.Tensor) -> torch.Tensor:
    """The first columns of the product of reflections, each of the last rows."""
    found = torch.eye(height, width, dtype=like.dtype).expand(*like.shape[:-2], height, width)
    for vector, factor in reversed(reflections):
        found = _reflected(found, torch.nn.functional.pad(vector, (0, 0, height - vector.shape[-2], 0)), factor)
    return found


def householder_product(input: torch.Tensor, tau: torch.Tensor) -> Any:
    """``aten.linalg_householder_product``."""
    height, width = input.shape[-2:]
    if tau.shape[-1] > MOST_ROWS:
        return NotImplemented
    reflections = []
    for k in range(tau.shape[-1]):
        below = input[..., k + 1 :, k : k + 1]
        one = torch.ones_like(input[..., :1, :1])
        reflections.append((torch.cat([one, below], -2), tau[..., k].unsqueeze(-1).unsqueeze(-1)))
    return _product(reflections, height, width, input)


def matrix_exp(self: torch.Tensor) -> torch.Tensor:
    """``aten.linalg_matrix_exp``: a Taylor series of degree 11, of a part of the matrix, and squares of it."""
    norm = self.detach().abs().sum(-2, keepdim=True).amax(-1, keepdim=True)
    squared = [norm > _SMALL_NORM * 2.0**k for k in range(_SQUARINGS)]
    part = self
    for is_large in squared:
        part = part * torch.where(is_large, 0.5, 1.0)
    found = _series(part)
    for is_large in squared:
        found = torch.where(is_large, found @ found, found)
    return found


def _series(x: torch.Tensor) -> torch.Tensor:
    """By Paterson and Stockmeyer: five products."""
    powers = [torch.eye(x.shape[-1], dtype=x.dtype), x, x @ x]
    cube = powers[2] @ x
    parts = [
        sum(power / math.factorial(_POWERS * block + i) for i, power in enumerate(powers))
        for block in range(_POWERS + 1)
    ]
    found: Any = parts[-1]
    for part in reversed(parts[:-1]):
        found = part + cube @ found
    return found


DECOMPOSITIONS = {
    _aten.linalg_householder_product.default: householder_product,
    _aten.linalg_matrix_exp.default: matrix_exp,
    _aten.linalg_qr.default: qr,
}
