"""Normalisations by their equations; batch normalisation returns its new running statistics instead of writing them."""

import math

import torch

_aten = torch.ops.aten
Optional = torch.Tensor | None


def _moments(x: torch.Tensor, dims: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``x - mean``, the mean and the (biased) variance, the last two with the reduced dimensions kept."""
    mean = x.mean(dims, keepdim=True)
    centred = x - mean
    return centred, mean, (centred * centred).mean(dims, keepdim=True)


def var_mean(
    x: torch.Tensor, dim: list[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """``aten.var_mean.correction``."""
    dims = [d % x.dim() for d in dim] if dim else list(range(x.dim()))
    _, mean, variance = _moments(x, dims)
    count = math.prod(x.shape[d] for d in dims)
    divisor = count - (1 if correction is None else correction)
    variance = variance if divisor == count else variance * (count / divisor)
    shape = [extent for i, extent in enumerate(x.shape) if i not in dims]
    return (variance, mean) if keepdim else (variance.reshape(shape), mean.reshape(shape))


def var(
    x: torch.Tensor, dim: list[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> torch.Tensor:
    """``aten.var.correction``."""
    return var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


def std(
    x: torch.Tensor, dim: list[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> torch.Tensor:
    """``aten.std.correction``."""
    return var(x, dim, correction=correction, keepdim=keepdim).sqrt()


def vector_norm(
    x: torch.Tensor, ord: float = 2, dim: list[int] | None = None, keepdim: bool = False, *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """``aten.linalg_vector_norm``."""
    dims = list(dim) if dim else list(range(x.dim()))
    if ord == 2:
        return (x * x).sum(dims, keepdim=keepdim).sqrt()
    size = x.abs()
    if math.isinf(ord):
        return (size.amax if ord > 0 else size.amin)(dims, keepdim=keepdim)
    if ord == 0:
        return (x != 0).to(x.dtype).sum(dims, keepdim=keepdim)
    return size.sum(dims, keepdim=keepdim) if ord == 1 else (size**ord).sum(dims, keepdim=keepdim) ** (1 / ord)


def dist(self: torch.Tensor, other: torch.Tensor, p: float = 2) -> torch.Tensor:
    """``aten.dist``: the norm of a difference."""
    return _aten.linalg_vector_norm(self - other, p)


def _per_channel(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return x.view(-1, *[1] * (like.dim() - 2))


def batch_norm(
    x: torch.Tensor, weight: Optional, bias: Optional, running_mean: Optional, running_var: Optional, training: bool,
    momentum: float, eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Optional, Optional]:
    """``aten.native_batch_norm`` without side effects.

    Returns result, mean, reciprocal deviation, and the new running statistics.
    """
    if not training:
        result = _aten._native_batch_norm_legit_no_training(x, weight, bias, running_mean, running_var, momentum, eps)
        empty = x.new_zeros(0)
        return result[0], empty, empty, running_mean, running_var
    centred, mean, variance = _moments(x, [0, *range(2, x.dim())])
    scale = (variance + eps).rsqrt()
    result = centred * (scale if weight is None else scale * _per_channel(weight, x))
    result = result if bias is None else result + _per_channel(bias, x)
    flat_mean, flat_variance = mean.reshape(-1), variance.reshape(-1)
    count = x.numel() // x.shape[1]
    if running_mean is not None:
        running_mean = running_mean * (1 - momentum) + flat_mean * momentum
    if running_var is not None:
        running_var = running_var * (1 - momentum) + flat_variance * (momentum * count / max(count - 1, 1))
    return result, flat_mean, scale.reshape(-1), running_mean, running_var


def native_batch_norm_backward(
    grad_out: torch.Tensor, input: torch.Tensor, weight: Optional, running_mean: Optional, running_var: Optional,
    save_mean: Optional, save_invstd: Optional, train: bool, eps: float, output_mask: list[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``aten.native_batch_norm_backward``: gradients of data, scale and shift."""
    if train:
        assert save_mean is not None and save_invstd is not None  # the forward operator returned them
        mean, scale = save_mean, save_invstd
    else:
        assert running_mean is not None and running_var is not None  # torch demands them without batch statistics
        mean, scale = running_mean, (running_var + eps).rsqrt()
    mean, scale = _per_channel(mean, input), _per_channel(scale, input)
    dims = [0, *range(2, input.dim())]
    normal = (input - mean) * scale
    to_bias = grad_out.sum(dims)
    to_weight = (grad_out * normal).sum(dims)
    factor = scale if weight is None else scale * _per_channel(weight, input)
    inner = grad_out
    if train:
        count = input.numel() // input.shape[1]
        shift, tilt = _per_channel(to_bias, input), _per_channel(to_weight, input)
        inner = grad_out - (shift + normal * tilt) * (1 / count)
    return inner * factor, to_weight, to_bias


def native_layer_norm(
    input: torch.Tensor, normalized_shape: list[int], weight: Optional, bias: Optional, eps: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``aten.native_layer_norm``: result, mean, reciprocal deviation."""
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    centred, mean, variance = _moments(input, dims)
    scale = (variance + eps).rsqrt()
    result = centred * scale
    result = result if weight is None else result * weight
    return (result if bias is None else result + bias), mean, scale


def native_layer_norm_backward(
    grad_out: torch.Tensor, input: torch.Tensor, normalized_shape: list[int], mean: torch.Tensor, rstd: torch.Tensor,
    weight: Optional, bias: Optional, output_mask: list[bool],
) -> tuple[torch.Tensor, Optional, Optional]:
    """``aten.native_layer_norm_backward``: gradients of data, scale and shift."""
    outer = list(range(input.dim() - len(normalized_shape)))
    inner = list(range(len(outer), input.dim()))
    normal = (input - mean) * rstd
    g = grad_out if weight is None else grad_out * weight
    tilt = (g * normal).mean(inner, keepdim=True)
    to_input = (g - g.mean(inner, keepdim=True) - normal * tilt) * rstd
    to_weight = None if weight is None else ((grad_out * normal).sum(outer) if outer else grad_out * normal)
    to_bias = None if bias is None else (grad_out.sum(outer) if outer else grad_out)
    return to_input, to_weight, to_bias


def native_group_norm(
    input: torch.Tensor, weight: Optional, bias: Optional, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``aten.native_group_norm``: result, mean, reciprocal deviation, both [N, group]."""
    centred, mean, variance = _moments(input.reshape(N, group, -1), [2])
    scale = (variance + eps).rsqrt()
    result = (centred * scale).reshape(input.shape)
    result = result if weight is None else result * _per_channel(weight, input)
    result = result if bias is None else result + _per_channel(bias, input)
    return result, mean.reshape(N, group), scale.reshape(N, group)


DECOMPOSITIONS = {
    _aten.var_mean.correction: var_mean,
    _aten.var.correction: var,
    _aten.std.correction: std,
    _aten.dist.default: dist,
    _aten.linalg_vector_norm.default: vector_norm,
    _aten.native_batch_norm_backward.default: native_batch_norm_backward,
    _aten.native_group_norm.default: native_group_norm,
    _aten.native_layer_norm.default: native_layer_norm,
    _aten.native_layer_norm_backward.default: native_layer_norm_backward,
}
