"""Gradient of padding by the elements at the border, as sums instead of additions at places."""

from collections.abc import Sequence

import torch

_aten = torch.ops.aten


def replication_pad_backward(grad_output: torch.Tensor, self: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    """``aten.replication_pad1d_backward`` and its like: the last dimension has the first two amounts."""
    grad = grad_output
    for i in range(len(padding) // 2):
        grad = _along(grad, self.dim() - 1 - i, *padding[2 * i : 2 * i + 2])
    return grad


def _along(grad: torch.Tensor, dim: int, low: int, high: int) -> torch.Tensor:
    """The gradient before one dimension was padded; a negative amount cut its elements, whose gradient is zero."""
    before, behind = max(low, 0), max(high, 0)
    count = grad.shape[dim] - before - behind
    inner = grad.narrow(dim, before, count)
    first = _total(grad, dim, 0, before + 1)
    last = _total(grad, dim, before + count - 1, behind + 1)
    if count == 1:
        inner = first + last - inner
    else:
        inner = torch.cat([first, inner.narrow(dim, 1, count - 2), last], dim)
    if min(low, high) >= 0:
        return inner
    amounts = [0] * (2 * (grad.dim() - dim))
    amounts[-2:] = [max(-low, 0), max(-high, 0)]
    return _aten.constant_pad_nd(inner, amounts, 0.0)


def _total(grad: torch.Tensor, dim: int, start: int, count: int) -> torch.Tensor:
    part = grad.narrow(dim, start, count)
    return part.sum(dim, keepdim=True) if count > 1 else part


DECOMPOSITIONS = dict.fromkeys(
    (
        _aten.replication_pad1d_backward.default,
        _aten.replication_pad2d_backward.default,
        _aten.replication_pad3d_backward.default,
    ),
    replication_pad_backward,
)
