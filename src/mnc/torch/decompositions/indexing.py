"""Look-ups by tensors of indices: several of them as one, and their gradients as products with one-hot matrices."""

from collections.abc import Sequence
from typing import Any

import torch

from mnc.torch.decompositions.embedding import embedding_dense_backward

_aten = torch.ops.aten
Indices = Sequence[torch.Tensor | None]


def _from_the_front(index: torch.Tensor, extent: int) -> torch.Tensor:
    """Negative indices count from the end."""
    return torch.where(index < 0, index + extent, index)


def _axes(indices: Indices) -> list[int] | None:
    """The dimensions that are looked up in, or None where a mask decides the shape of the result."""
    given = [axis for axis, index in enumerate(indices) if index is not None]
    masks = any(indices[axis].dtype in (torch.bool, torch.uint8) for axis in given)  # pyright: ignore
    return None if masks or not given else given


def _row_numbers(indices: Indices, axes: list[int], shape: Sequence[int]) -> torch.Tensor:
    """One index into the dimensions `axes` taken together."""
    total: Any = 0
    for axis in axes:
        total = total * shape[axis] + _from_the_front(indices[axis], shape[axis])  # pyright: ignore
    return total


def _ordered(axes: list[int], rank: int) -> list[int]:
    """A permutation that brings `axes` to the front."""
    return [*axes, *(axis for axis in range(rank) if axis not in axes)]


def _place(axes: list[int]) -> int:
    """Where the dimensions of the indices stand in the result: where they stood if side by side, else in front."""
    return axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0


def index(self: torch.Tensor, indices: Indices) -> torch.Tensor:
    """``aten.index`` with several tensors of integers; one stays whole, as a look-up in one dimension."""
    axes = _axes(indices)
    return NotImplemented if axes is None or len(axes) == 1 else _look_up(self, indices, axes)


def unsafe_index(self: torch.Tensor, indices: Indices) -> torch.Tensor:
    """``aten._unsafe_index``: the same without a check of the indices."""
    return _aten.index(self, list(indices))


def _look_up(self: torch.Tensor, indices: Indices, axes: list[int]) -> torch.Tensor:
    numbers = _row_numbers(indices, axes, self.shape)
    moved = self.permute(_ordered(axes, self.dim()))
    rest = list(moved.shape[len(axes) :])
    rows = _aten.index_select(moved.reshape(-1, *rest), 0, numbers.reshape(-1)).reshape(*numbers.shape, *rest)
    count, place = numbers.dim(), _place(axes)
    front = list(range(count))
    order = [*range(count, count + place), *front, *range(count + place, rows.dim())]
    return rows.permute(order) if place else rows


def index_put(self: torch.Tensor, indices: Indices, values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    """``aten.index_put`` that adds, or that a single mask selects; others stay whole, and are refused."""
    axes, first = _axes(indices), indices[0]
    if axes is None and len(indices) == 1 and first is not None and values.dim() == 0 and not accumulate:
        mask = first.reshape(*first.shape, *([1] * (self.dim() - first.dim())))
        return torch.where(mask, values, self)
    if axes is None or not accumulate:
        return NotImplemented
    numbers = _row_numbers(indices, axes, self.shape)
    order, count, place = _ordered(axes, self.dim()), numbers.dim(), _place(axes)
    moved = self.permute(order)
    rest = list(moved.shape[len(axes) :])
    spread = values.expand(*rest[:place], *numbers.shape, *rest[place:])
    spread = spread.permute([*range(place, place + count), *range(place), *range(place + count, spread.dim())])
    table = moved.reshape(-1, *rest)
    flat = spread.reshape(numbers.numel(), -1)
    added = embedding_dense_backward(flat, numbers.reshape(-1), table.shape[0], -1, False).reshape(moved.shape)
    inverse = sorted(range(self.dim()), key=order.__getitem__)
    return self + added.permute(inverse)


def scatter_add(self: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    """``aten.scatter_add``: each element of `src` goes to the place along `dim` that its index tells."""
    if self.dim() == 0:
        return self + src
    dim %= self.dim()
    for axis, extent in enumerate(index.shape):
        src = src.narrow(axis, 0, extent)
    places = torch.arange(self.shape[dim], dtype=index.dtype).reshape(-1, *([1] * (self.dim() - dim)))
    hits = index.unsqueeze(dim) == places
    added = torch.where(hits, src.unsqueeze(dim), 0.0).sum(dim + 1)
    amounts = [0] * (2 * self.dim())
    for axis in range(self.dim()):
        amounts[2 * (self.dim() - 1 - axis) + 1] = self.shape[axis] - added.shape[axis]
    return self + (_aten.constant_pad_nd(added, amounts, 0.0) if any(amounts) else added)


DECOMPOSITIONS = {
    _aten.index.Tensor: index,
    _aten._unsafe_index.Tensor: unsafe_index,
    _aten.index_put.default: index_put,
    _aten._unsafe_index_put.default: index_put,
    _aten.scatter_add.default: scatter_add,
}
