"""Gradients of slices and of selected elements, as padding; assignments."""

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


DECOMPOSITIONS = {
    _aten.copy.default: copy,
    _aten.slice_scatter.default: slice_scatter,
    _aten.slice_backward.default: slice_backward,
    _aten.select_backward.default: select_backward,
    _aten.unbind.int: unbind,
}
