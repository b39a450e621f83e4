"""Places in memory, which as_strided names, as numbers of elements.

Adaptive pooling of a tensor that is not contiguous names those of its result; so do gradients of assignments to
parts of a tensor.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import fx

from mnc.torch.graph_edits import calls, replace

_aten = torch.ops.aten


def number(graph: fx.Graph) -> None:
    """Read and put by their numbers the elements that are now at the places which as_strided names; calls that name
    places between elements stay, and are refused."""
    for node in calls(graph, _aten.as_strided.default, _aten.as_strided_.default):
        source, size, stride, *offset = node.args
        numbers = _numbers(source, size, stride, offset)
        if numbers is not None:
            replace(node, elements, (source, numbers, size))
    for node in calls(graph, _aten.as_strided_scatter.default):
        source, part, size, stride, *offset = node.args
        numbers = _numbers(source, size, stride, offset)
        if numbers is not None:
            replace(node, with_elements, (source, part, numbers))


def _numbers(source: Any, size: Any, stride: Any, offset: Sequence[Any]) -> list[int] | None:
    """Which element of `source` is at each place, in order."""
    value = source.meta["val"]
    first = offset[0] if offset and offset[0] is not None else value.storage_offset()
    places = _places(value.shape, value.stride(), value.storage_offset())
    wanted = _places(size, stride, first)
    order = np.argsort(places)
    numbers = order[np.searchsorted(places, wanted, sorter=order).clip(max=len(places) - 1)]
    return numbers.tolist() if np.array_equal(places[numbers], wanted) else None


def _places(shape: Sequence[int], strides: Sequence[int], first: int) -> np.ndarray:
    """Where in memory each element of a tensor is, in order."""
    indices = np.indices(tuple(shape)).reshape(len(shape), -1)
    return first + np.asarray(strides, np.int64) @ indices


def elements(x: torch.Tensor, numbers: list[int], shape: Sequence[int]) -> torch.Tensor:
    """Those of `x` with these numbers."""
    if numbers == list(range(x.numel())):
        return x.reshape(shape)
    return x.reshape(-1)[torch.tensor(numbers)].reshape(shape)


def with_elements(x: torch.Tensor, part: torch.Tensor, numbers: list[int]) -> torch.Tensor:
    """`x` with the elements of `part` at some of its places."""
    if numbers == list(range(x.numel())):
        return part.reshape(x.shape)
    count = x.numel()
    sources = list(range(count))
    for place, chosen in enumerate(numbers):
        sources[chosen] = count + place
    return torch.cat([x.reshape(-1), part.reshape(-1)])[torch.tensor(sources)].reshape(x.shape)
