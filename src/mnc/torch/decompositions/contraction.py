"""Gradients of convolutions, as convolutions; products with vectors."""

import torch

_aten = torch.ops.aten


def _as_channels(x: torch.Tensor, groups: int) -> torch.Tensor:
    """[N, G*C, ...] -> [C, G*N, ...]: samples take the place of channels, group by group."""
    samples, channels, *extents = x.shape
    split = x.reshape(samples, groups, channels // groups, *extents)
    order = [2, 1, 0, *range(3, split.dim())]
    return split.permute(order).reshape(channels // groups, groups * samples, *extents)


def weight_gradient(
    x: torch.Tensor, g: torch.Tensor, kernel: list[int], stride: list[int], padding: list[int], dilation: list[int],
    groups: int,
) -> torch.Tensor:
    """Gradient of the weight [M, C/groups, kernel] of ``y = conv(x, weight)``, given that of y.

    The convolution of the samples of x with those of g; stride and dilation change places.
    """
    zeros = [0] * len(kernel)
    data, weight = _as_channels(x, groups), g.transpose(0, 1)
    wide = _aten.convolution(data, weight, None, dilation, padding, stride, False, zeros, groups)
    # A stride that does not divide leaves more places than the kernel has.
    return _cut(wide, kernel).transpose(0, 1)


def _cut(x: torch.Tensor, extents: list[int]) -> torch.Tensor:
    """The first elements of every spatial dimension."""
    for axis, extent in enumerate(extents, 2):
        x = x.narrow(axis, 0, extent)
    return x


def _input_gradient(
    g: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: list[int], padding: list[int], dilation: list[int],
    groups: int,
) -> torch.Tensor:
    """Gradient of the data of a convolution: the transposed convolution."""
    lost = []  # elements behind the last window, which a stride that does not divide leaves out
    for i, (data, out, extent) in enumerate(zip(x.shape[2:], g.shape[2:], weight.shape[2:], strict=True)):
        lost.append(data - ((out - 1) * stride[i] - 2 * padding[i] + dilation[i] * (extent - 1) + 1))
    return _aten.convolution(g, weight, None, stride, padding, dilation, True, lost, groups)


def convolution_backward(
    grad_output: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, bias_sizes: list[int] | None,
    stride: list[int], padding: list[int], dilation: list[int], transposed: bool, output_padding: list[int],
    groups: int, output_mask: list[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:
    """``aten.convolution_backward``: gradients of data, weight and bias."""
    rank = input.dim() - 2
    stride, padding, dilation = (list(v) * rank if len(v) == 1 else list(v) for v in (stride, padding, dilation))
    kernel, zeros = list(weight.shape[2:]), [0] * rank
    to_data = to_weight = to_bias = None
    if output_mask[0] and transposed:
        wide = _aten.convolution(grad_output, weight, None, stride, padding, dilation, False, zeros, groups)
        to_data = _cut(wide, list(input.shape[2:]))  # output padding of a stride and more reaches beyond the data
    elif output_mask[0]:
        to_data = _input_gradient(grad_output, input, weight, stride, padding, dilation, groups)
    if output_mask[1]:
        x, g = (grad_output, input) if transposed else (input, grad_output)
        to_weight = weight_gradient(x, g, kernel, stride, padding, dilation, groups)
    if output_mask[2]:
        to_bias = grad_output.sum([0, *range(2, grad_output.dim())])
    return to_data, to_weight, to_bias


def _mv(self: torch.Tensor, vec: torch.Tensor) -> torch.Tensor:
    return _aten.mm(self, vec.unsqueeze(1)).squeeze(1)


def _dot(self: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    return (self * tensor).sum()


def _baddbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    product = _aten.bmm(batch1, batch2)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (self if beta == 1 else self * beta)


def _addmv(
    self: torch.Tensor, mat: torch.Tensor, vec: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    product = _mv(mat, vec) * alpha
    return product if beta == 0 else product + self * beta


def _addbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    """The sum of all products of a batch, as one product."""
    wide, tall = batch1.transpose(0, 1).flatten(1), batch2.flatten(0, 1)
    return _aten.addmm(self, wide, tall, beta=beta, alpha=alpha)


def trilinear(
    i1: torch.Tensor, i2: torch.Tensor, i3: torch.Tensor, expand1: list[int], expand2: list[int], expand3: list[int],
    sumdim: list[int], unroll_dim: int = 1,
) -> torch.Tensor:
    """``aten._trilinear``: the product of three tensors, given dimensions of their own, summed over `sumdim`."""
    parts: list[torch.Tensor] = []
    for axes, part in ((expand1, i1), (expand2, i2), (expand3, i3)):
        for axis in sorted(axes):
            part = part.unsqueeze(axis)
        parts.append(part)
    return (parts[0] * parts[1] * parts[2]).sum(sumdim)


DECOMPOSITIONS = {
    _aten._trilinear.default: trilinear,
    _aten.convolution_backward.default: convolution_backward,
    _aten.mv.default: _mv,
    _aten.dot.default: _dot,
    _aten.addbmm.default: _addbmm,
    _aten.addmv.default: _addmv,
    _aten.baddbmm.default: _baddbmm,
}
