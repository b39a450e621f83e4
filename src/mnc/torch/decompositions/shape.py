"""Gradients of slices and of selected elements, as padding; assignments;
rotations, diagonals and windows."""

from collections.abc import Sequence

import torch

_aten = torch.ops.aten


def _padded(x: torch.Tensor, dim: int, low: int, high: int) -> torch.Tensor:
    amounts = [0] * (2 * (x.dim() - dim))
    amounts[-2:] = [low, high]
    return _aten.constant_pad_nd(x, amounts, 0.0)


def slice_backward(
    grad_output: torch.Tensor, input_sizes: list[int], dim: int, start: int, end: int, step: int
) -> torch.Tensor:
    """``aten.slice_backward``: zeros around and, for steps, between the elements."""
    dim %= len(input_sizes)
    start, _, _ = slice(start, end, step).indices(input_sizes[dim])
    grown = grad_output
    if step > 1:
        shape = list(grad_output.shape)
        grown = _padded(grad_output.unsqueeze(dim + 1), dim + 1, 0, step - 1)
        shape[dim] *= step
        grown = grown.reshape(shape)
    # The gap behind the last element may reach beyond the end: a negative padding cuts it.
    return _padded(grown, dim, start, input_sizes[dim] - start - grown.shape[dim])


def select_backward(grad_output: torch.Tensor, input_sizes: list[int], dim: int, index: int) -> torch.Tensor:
    """``aten.select_backward``."""
    dim %= len(input_sizes)
    index %= input_sizes[dim]
    return _padded(grad_output.unsqueeze(dim), dim, index, input_sizes[dim] - index - 1)


def unbind(self: torch.Tensor, dim: int = 0) -> list[torch.Tensor]:
    """``aten.unbind.int``."""
    return [self.select(dim, i) for i in range(self.shape[dim])]


def slice_scatter(
    self: torch.Tensor, src: torch.Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> torch.Tensor:
    """``aten.slice_scatter``: `src` in the place of a slice of `self`."""
    dim %= self.dim()
    chosen = range(*slice(start, end, step).indices(self.shape[dim]))
    src = src.expand([len(chosen) if axis == dim else extent for axis, extent in enumerate(self.shape)])
    if not chosen:
        return self.clone()
    if step == 1:
        low, high = _aten.slice(self, dim, 0, chosen.start), _aten.slice(self, dim, chosen.stop)
        return _aten.cat([part for part in (low, src, high) if part.shape[dim]], dim)
    spread = slice_backward(src, list(self.shape), dim, chosen.start, chosen.stop, step)
    places = torch.tensor([place in chosen for place in range(self.shape[dim])])
    return torch.where(places.reshape(-1, *([1] * (self.dim() - 1 - dim))), spread, self)


def copy(self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """``aten.copy``: what an assignment leaves in `self`."""
    return src.to(self.dtype).expand(self.shape)


def roll(self: torch.Tensor, shifts: list[int], dims: Sequence[int] = ()) -> torch.Tensor:
    """``aten.roll``: the last elements of a dimension come before the others."""
    if not dims:
        return roll(self.reshape(-1), shifts, [0]).reshape(self.shape) if self.dim() else self.clone()
    for shift, dim in zip(shifts, dims, strict=True):
        extent = self.shape[dim]
        if cut := shift % extent if extent else 0:
            self = torch.cat([self.narrow(dim, extent - cut, cut), self.narrow(dim, 0, extent - cut)], dim)
    return self.clone()


def diagonal(self: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> torch.Tensor:
    """``aten.diagonal``: of a square, every element that is one more than a row behind the one before."""
    matrix = self.movedim((dim1, dim2), (-2, -1))
    below, right = max(-offset, 0), max(offset, 0)
    count = max(min(matrix.shape[-2] - below, matrix.shape[-1] - right), 0)
    square = matrix.narrow(-2, min(below, matrix.shape[-2]), count).narrow(-1, min(right, matrix.shape[-1]), count)
    return square.reshape(*square.shape[:-2], count * count)[..., :: count + 1].clone()


def diagonal_backward(
    grad_output: torch.Tensor, input_sizes: list[int], offset: int, dim1: int, dim2: int
) -> torch.Tensor:
    """``aten.diagonal_backward``: behind each element a row of zeros, which makes a square; zeros around that."""
    count = grad_output.shape[-1]
    rows = _padded(grad_output.unsqueeze(-1), grad_output.dim(), 0, count)
    square = rows.flatten(-2)[..., : count * count].unflatten(-1, (count, count))
    below, right = max(-offset, 0), max(offset, 0)
    tall = _padded(square, square.dim() - 2, below, input_sizes[dim1] - count - below)
    return _padded(tall, tall.dim() - 1, right, input_sizes[dim2] - count - right).movedim((-2, -1), (dim1, dim2))


def diagonal_scatter(
    self: torch.Tensor, src: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> torch.Tensor:
    """``aten.diagonal_scatter``: `src` in the place of a diagonal of `self`."""
    matrix = self.movedim((dim1, dim2), (-2, -1))
    rows, columns = matrix.shape[-2:]
    above = max(-offset, 0)
    along_rows = _padded(src, src.dim() - 1, above, rows - above - src.shape[-1]).unsqueeze(-1)
    on_it = torch.arange(rows).unsqueeze(-1) + offset == torch.arange(columns)
    return torch.where(on_it, along_rows, matrix).movedim((-2, -1), (dim1, dim2))


def unfold(self: torch.Tensor, dimension: int, size: int, step: int) -> torch.Tensor:
    """``aten.unfold``: all windows of a dimension, each in a last one."""
    if not self.dim():
        return self.reshape(1).expand(size).clone()
    dimension %= self.dim()
    starts = torch.arange(0, self.shape[dimension] - size + 1, step)
    places = (starts.unsqueeze(1) + torch.arange(size)).reshape(-1)
    windows = _aten.index_select(self, dimension, places).unflatten(dimension, (starts.shape[0], size))
    return windows.movedim(dimension + 1, -1)


DECOMPOSITIONS = {
    _aten.copy.default: copy,
    _aten.diagonal.default: diagonal,
    _aten.diagonal_backward.default: diagonal_backward,
    _aten.diagonal_scatter.default: diagonal_scatter,
    _aten.roll.default: roll,
    _aten.slice_scatter.default: slice_scatter,
    _aten.slice_backward.default: slice_backward,
    _aten.select_backward.default: select_backward,
    _aten.unbind.int: unbind,
    _aten.unfold.default: unfold,
}
