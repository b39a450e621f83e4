"""Gradients that a module takes in its own forward part, by ``torch.autograd``, where all of it is differentiated."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._C import _functorch
from torch._functorch.eager_transforms import enable_inplace_requires_grad

from mnc.core.diagnostics import CompileError


class WithoutAutograd(CompileError):
    """Gradients are taken where a trace follows none."""


def _requires_grad_(tensor: torch.Tensor, requires_grad: bool = True) -> torch.Tensor:
    """``Tensor.requires_grad_`` within `under_differentiation` or a training step; raises WithoutAutograd elsewhere."""
    if not requires_grad:
        return tensor.requires_grad_(False)
    if not torch.is_grad_enabled():
        return tensor  # which nothing differentiates
    level = _functorch.maybe_current_level()
    if not _functorch.is_gradtrackingtensor(tensor) or _functorch.maybe_get_level(tensor) != level:
        message = "requires_grad_() of a tensor within a function that torch transforms"
        raise WithoutAutograd(message, hint="take gradients by torch.func")
    with enable_inplace_requires_grad(True):
        return tensor.requires_grad_()


def under_differentiation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors that may take gradients by them, as within a training step."""

    def run(*tensors: torch.Tensor) -> Any:
        def objective(nothing: torch.Tensor, *inner: torch.Tensor) -> tuple[torch.Tensor, Any]:
            return nothing * 1, function(*inner)

        return torch.func.grad_and_value(objective, has_aux=True)(torch.zeros(()), *tensors)[1][1]

    return run


FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    torch.Tensor.requires_grad_: _requires_grad_,
    torch.Tensor.requires_grad.__set__: _requires_grad_,  # pyright: ignore[reportAttributeAccessIssue, reportFunctionMemberAccess]
}
"""Function of torch -> the one that takes its place."""
