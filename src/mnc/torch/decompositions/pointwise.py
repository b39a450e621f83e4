"""Element-wise operators that torch has no definition of, or one that guards against NaN."""

import torch

_aten = torch.ops.aten


def shrink_backward(grad_output: torch.Tensor, self: torch.Tensor, lambd: float) -> torch.Tensor:
    """``aten.hardshrink_backward`` and ``aten.softshrink_backward``: nothing passes between -lambd and lambd."""
    return torch.where(self.abs() <= lambd, 0.0, grad_output)


def xlogy(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``aten.xlogy.Tensor``: zero where `self` is."""
    return torch.where(self == 0, 0.0, self * torch.log(other))


DECOMPOSITIONS = {
    _aten.hardshrink_backward.default: shrink_backward,
    _aten.softshrink_backward.default: shrink_backward,
    _aten.xlogy.Tensor: xlogy,
}
