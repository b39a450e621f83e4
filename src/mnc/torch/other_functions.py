"""Functions of torch in another form: one that looks at no values, writes into no part of a tensor, or whose gradient
needs no factorization."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from mnc.core.diagnostics import CompileError
from mnc.torch import foreach, inner_gradients, linear_algebra
from mnc.torch.bags import embedding_bag
from mnc.torch.ctc import ctc_loss
from mnc.torch.packed_sequences import PackedSequences
from mnc.torch.sampling import grid_sample


class OtherFunctions(TorchFunctionMode):
    """Within the block these functions take the place of torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.sequences = PackedSequences()
        self._functions = {**_OTHERS, **self.sequences.functions}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = self._functions.get(func, func)(*args, **kwargs)
        self.sequences.note(func, args, kwargs, found)
        return found


def _one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    if num_classes < 0:
        raise CompileError("one_hot without num_classes has a shape that depends on values", hint="give num_classes")
    return (tensor.unsqueeze(-1) == torch.arange(num_classes)).to(torch.int64)


def _pad(
    input: torch.Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> torch.Tensor:
    """Circular padding, which torch copies piece by piece, as a concatenation. A negative amount cuts."""
    if mode != "circular":
        return torch.nn.functional.pad(input, pad, mode, value)
    torch.nn.functional.pad(input.detach(), pad, mode)  # refuses what torch refuses
    for i in range(len(pad) // 2):
        dim, (low, high) = input.dim() - 1 - i, pad[2 * i : 2 * i + 2]
        inner = input.narrow(dim, max(-low, 0), input.shape[dim] + min(low, 0) + min(high, 0))
        extent = inner.shape[dim]
        before, behind = inner.narrow(dim, extent - max(low, 0), max(low, 0)), inner.narrow(dim, 0, max(high, 0))
        input = torch.cat([part for part in (before, inner, behind) if part.shape[dim]], dim)
    return input


def _gaussian_nll_loss(
    input: torch.Tensor, target: torch.Tensor, var: torch.Tensor | float, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> torch.Tensor:
    """As torch's, which looks whether a variance is negative; that is taken for `eps` here. The gradient passes."""
    if isinstance(var, float):
        var = var * torch.ones_like(input)
    if var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    var = var + (var.clamp(min=eps) - var).detach()
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0.0)
    return {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum}[reduction]()


def _pdist(input: torch.Tensor, p: float = 2) -> torch.Tensor:
    """Distances of all pairs of rows, of the distances of all rows."""
    first, second = torch.triu_indices(input.shape[0], input.shape[0], 1)
    return torch.cdist(input, input, p)[first, second]


def _cov(
    input: torch.Tensor, *, correction: int = 1, fweights: torch.Tensor | None = None,
    aweights: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    """Of rows; torch looks at the values of weights, and at the shape of a number."""
    if fweights is not None or aweights is not None:
        raise CompileError("a covariance with weights looks at their values", hint="write it as a product of matrices")
    rows = input.reshape(-1, input.shape[-1] if input.dim() else 1)
    centred = rows - rows.mean(1, keepdim=True)
    found = centred @ centred.t() / max(rows.shape[1] - correction, 0)
    return found if input.dim() > 1 else found.reshape(())


def _corrcoef(input: torch.Tensor) -> torch.Tensor:
    found = _cov(input)
    if not found.dim():
        return found / found
    deviation = found.diagonal().sqrt()
    return (found / deviation.unsqueeze(1) / deviation).clamp(-1, 1)


_OTHERS: Mapping[Any, Callable[..., Any]] = {
    torch.nn.functional.one_hot: _one_hot,
    torch.nn.functional.pad: _pad,
    torch.nn.functional.gaussian_nll_loss: _gaussian_nll_loss,
    torch.nn.functional.embedding_bag: embedding_bag,
    torch.nn.functional.grid_sample: grid_sample,
    **dict.fromkeys((torch.nn.functional.ctc_loss, torch.ctc_loss), ctc_loss),
    **dict.fromkeys((torch.nn.functional.pdist, torch.pdist), _pdist),
    **dict.fromkeys((torch.cov, torch.Tensor.cov), _cov),
    **dict.fromkeys((torch.corrcoef, torch.Tensor.corrcoef), _corrcoef),
    **foreach.FUNCTIONS,
    **inner_gradients.FUNCTIONS,
    **linear_algebra.FUNCTIONS,
}
