"""Look-ups and assignments by tensors of indices: several of them as one, and the gradients of look-ups as products
with one-hot matrices."""

import math
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
    """``aten.index_put`` at places that tensors of integers name, or that a single mask selects; what has one value
    for every element that a mask selects stays whole, and is refused."""
    axes, mask = _axes(indices), indices[0]
    if axes is None and len(indices) == 1 and mask is not None:
        return _put_under_mask(self, mask, values, accumulate)
    if axes is None:
        return NotImplemented
    numbers = _row_numbers(indices, axes, self.shape)
    order, count, place = _ordered(axes, self.dim()), numbers.dim(), _place(axes)
    moved = self.permute(order)
    rest = list(moved.shape[len(axes) :])
    spread = values.to(self.dtype).expand(*rest[:place], *numbers.shape, *rest[place:])
    spread = spread.permute([*range(place, place + count), *range(place), *range(place + count, spread.dim())])
    inverse = sorted(range(self.dim()), key=order.__getitem__)
    flat, numbers = spread.reshape(numbers.numel(), -1), numbers.reshape(-1)
    table = moved.reshape(-1, *rest)
    if accumulate:
        added = embedding_dense_backward(flat, numbers, table.shape[0], -1, False).reshape(moved.shape)
        return self + added.permute(inverse)
    put = table.reshape(table.shape[0], -1).scatter(0, numbers.unsqueeze(1).expand(flat.shape), flat)
    return put.reshape(moved.shape).permute(inverse)


def _put_under_mask(self: torch.Tensor, mask: torch.Tensor, values: torch.Tensor, accumulate: bool) -> torch.Tensor:
    inner = self.dim() - mask.dim()
    if values.dim() == inner + 1 and values.shape[0] == 1:
        values = values.squeeze(0)
    if values.dim() > inner or accumulate:
        return NotImplemented
    return torch.where(mask.bool().reshape(*mask.shape, *[1] * inner), values, self)


def put(self: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    """``aten.put``: elements at places that count all elements."""
    return index_put(self.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate).reshape(self.shape)


def index_reduce(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    """``aten.index_reduce``: whole slices that come together at the places of `index`."""
    dim %= self.dim()
    spread = index.reshape(-1, *[1] * (self.dim() - 1 - dim)).expand(source.shape)
    return self.scatter_reduce(dim, spread, source, reduce, include_self=include_self)


def masked_scatter(self: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """``aten.masked_scatter``: the places that a mask selects take the elements of `source` in order."""
    shape = torch.broadcast_shapes(self.shape, mask.shape)
    mask = mask.expand(shape)
    number = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
    taken = _aten.index_select(source.reshape(-1), 0, number.clamp(0, source.numel() - 1)).reshape(shape)
    return torch.where(mask, taken, self)


def masked_scatter_backward(grad_output: torch.Tensor, mask: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """``aten.masked_scatter_backward``: what the source of a masked_scatter gets, zero where nothing took it."""
    count = math.prod(sizes)
    mask = mask.expand(grad_output.shape).reshape(-1)
    number = mask.to(torch.int64).cumsum(0) - 1
    found = grad_output.new_zeros(count + 1).scatter(0, torch.where(mask, number, count), grad_output.reshape(-1))
    return found[:count].reshape(sizes)


def nonzero_static(self: torch.Tensor, *, size: int, fill_value: int = -1) -> torch.Tensor:
    """``aten.nonzero_static``: the first `size` places of what is not zero, in order."""
    count = self.numel()
    places = torch.where(self.reshape(-1) != 0, torch.arange(count), count)
    first = torch.sort(_aten.constant_pad_nd(places, [0, max(size - count, 0)], count), 0)[0][:size]
    columns, rest = [], first
    for extent in reversed(self.shape):
        columns.insert(0, rest % extent)
        rest = torch.div(rest, extent, rounding_mode="floor")
    found = torch.stack(columns, 1) if columns else first.new_zeros((size, 0))
    return torch.where((first < count).unsqueeze(1), found, fill_value)


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
    _aten.index_reduce.default: index_reduce,
    _aten.masked_scatter.default: masked_scatter,
    _aten.masked_scatter_backward.default: masked_scatter_backward,
    _aten.nonzero_static.default: nonzero_static,
    _aten.put.default: put,
    _aten._unsafe_index_put.default: index_put,
    _aten.scatter_add.default: scatter_add,
}
