"""Reductions, and normalisations along dimensions."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray


def _log_sum_exp(x: Array, **how: Any) -> Array:
    top = np.max(x, axis=how["axis"], keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - top), axis=how["axis"], keepdims=True)) + top
    return total if how["keepdims"] else np.squeeze(total, how["axis"])


def _extreme(kind: str) -> Callable[..., Array]:
    """Maximum or minimum; of nothing it is the value that changes no other."""

    def function(x: Array, **how: Any) -> Array:
        if x.dtype.kind == "b":
            neutral: Any = kind == "min"
        elif x.dtype.kind in "iu":
            neutral = np.iinfo(x.dtype).min if kind == "max" else np.iinfo(x.dtype).max
        else:
            neutral = -np.inf if kind == "max" else np.inf
        return (np.max if kind == "max" else np.min)(x, initial=neutral, **how)

    return function


KINDS: Mapping[str, Callable[..., Array]] = {
    "sum": np.sum,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "mean": np.mean,
    "prod": np.prod,
    "l1": lambda x, **how: np.sum(np.abs(x), **how),
    "l2": lambda x, **how: np.sqrt(np.sum(x * x, **how)),
    "sum_square": lambda x, **how: np.sum(x * x, **how),
    "log_sum": lambda x, **how: np.log(np.sum(x, **how)),
    "log_sum_exp": _log_sum_exp,
}
"""Kind of `graph.reduce` -> function of the array, ``axis`` and ``keepdims``."""


def reduce(x: Array, kind: str, axes: Sequence[int], keepdims: bool) -> Array:
    """Fold the dimensions `axes`."""
    if kind == "mean" and x.dtype.kind in "iu":
        count = math.prod(x.shape[axis] for axis in axes)
        return np.trunc(np.sum(x, axis=tuple(axes), keepdims=keepdims) / count)
    return KINDS[kind](x, axis=tuple(axes), keepdims=keepdims)


def arg_reduce(x: Array, kind: str, axis: int, keepdims: bool, select_last: bool) -> Array:
    """Index of the largest or smallest element."""
    values = np.flip(x, axis) if select_last else x
    index = (np.argmax if kind == "max" else np.argmin)(values, axis=axis, keepdims=keepdims)
    return x.shape[axis] - 1 - index if select_last else index


def cum_sum(x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
    """Running sum."""
    x = np.flip(x, axis) if reverse else x
    total = np.cumsum(x, axis, dtype=x.dtype)
    if exclusive:
        total = np.roll(total, 1, axis)
        total[(slice(None),) * axis + (slice(0, 1),)] = 0
    return np.flip(total, axis) if reverse else total


def softmax(x: Array, axis: int) -> Array:
    """e**(x - max) / sum."""
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Array, axis: int) -> Array:
    """x - max - log(sum of e**(x - max))."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def layer_norm(x: Array, scale: Array, bias: Array | None = None, *, axis: int, epsilon: float) -> tuple[Array, ...]:
    """Normalised data, mean, 1 / sqrt(variance + epsilon)."""
    axes = tuple(range(axis, x.ndim))
    mean = np.mean(x, axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(np.mean((x - mean) ** 2, axis=axes, keepdims=True) + epsilon)
    result = (x - mean) * inverse * scale
    return (result if bias is None else result + bias), mean, inverse


def batch_norm(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float) -> Array:
    """Normalise dimension 1 by given statistics."""
    column = (-1, *[1] * (x.ndim - 2))
    scale, bias, mean, variance = (value.reshape(column) for value in (scale, bias, mean, variance))
    return (x - mean) / np.sqrt(variance + epsilon) * scale + bias


DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    "reduce": reduce,
    "arg_reduce": arg_reduce,
    "cum_sum": cum_sum,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "layer_norm": layer_norm,
    "batch_norm": batch_norm,
}
