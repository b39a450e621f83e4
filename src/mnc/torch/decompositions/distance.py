"""Distances of every row of one matrix from every row of another."""

import torch

_aten = torch.ops.aten


def _differences(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """[..., P, M], [..., R, M] -> [..., P, R, M]."""
    return x1.unsqueeze(-2) - x2.unsqueeze(-3)


def cdist(x1: torch.Tensor, x2: torch.Tensor, p: float, compute_mode: int | None) -> torch.Tensor:
    """``aten._cdist_forward``: the norm of order `p` of the differences."""
    return torch.linalg.vector_norm(_differences(x1, x2), p, dim=-1)


def cdist_backward(
    grad: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, p: float, cdist: torch.Tensor
) -> torch.Tensor:
    """``aten._cdist_backward``: the gradient of x1, which rows at the same place do not move."""
    differences, far = _differences(x1, x2), torch.where(cdist == 0, 1.0, cdist).unsqueeze(-1)
    sizes = differences.abs()
    if p == float("inf"):
        part = torch.where(sizes == far, 1.0, 0.0)
    elif p == 0:
        part = torch.zeros_like(sizes)
    else:
        part = (sizes / far).pow(p - 1)
    wanted = torch.where(cdist == 0, 0.0, grad).unsqueeze(-1)
    return (wanted * torch.sign(differences) * part).sum(-2)


DECOMPOSITIONS = {
    _aten._cdist_backward.default: cdist_backward,
    _aten._cdist_forward.default: cdist,
}
