"""Operations that only move elements."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray


def slice_(x: Array, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int]) -> Array:
    """One range per dimension; limit -1 with a negative step includes element 0."""
    ranges = [range(*triple) for triple in zip(starts, limits, steps, strict=True)]
    return x[np.ix_(*ranges)] if ranges else x


def pad(x: Array, low: Sequence[int], high: Sequence[int], value: float, mode: str) -> Array:
    """Elements around the tensor."""
    widths = list(zip(low, high, strict=True))
    if mode == "constant":
        return np.pad(x, widths, mode="constant", constant_values=np.asarray(value).astype(x.dtype))
    return np.pad(x, widths, mode=mode)  # pyright: ignore[reportCallIssue, reportArgumentType]


def batch_gather(x: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    """Every element of the first dimensions has indices of its own."""
    if not batch_dims:
        return np.take(x, indices, axis)
    lines = [batch_gather(*pair, axis - 1, batch_dims - 1) for pair in zip(x, indices, strict=True)]
    rest = (*x.shape[1:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :])
    return np.stack(lines) if lines else np.empty((0, *rest), x.dtype)


DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    "slice": slice_,
    "pad": pad,
    "transpose": lambda x, permutation: np.transpose(x, permutation),
    "concat": lambda a, b, axis: np.concatenate([a, b], axis),
    "gather": lambda x, indices, axis: np.take(x, indices, axis),
    "batch_gather": batch_gather,
}
