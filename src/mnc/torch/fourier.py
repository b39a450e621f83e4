"""Fourier transforms as products with matrices of waves; complex numbers are pairs of real tensors."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from mnc.torch.decompositions.resampling import constant

Parts = tuple[torch.Tensor, torch.Tensor]
"""Real and imaginary part."""


def _waves(length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of ``2 pi i k / length``, [length, count]; whole turns are left out before they are rounded."""
    angle = np.outer(np.arange(length), np.arange(count)) % length * (2 * np.pi / length)
    return np.cos(angle), np.sin(angle)


def _along(x: torch.Tensor, dim: int, matrix: np.ndarray) -> torch.Tensor:
    """Products of the vectors along `dim`, which comes last, with a matrix."""
    moved = x.movedim(dim, -1)
    found = torch.ops.aten.mm(moved.reshape(-1, moved.shape[-1]), constant(matrix, x.dtype))
    return found.reshape(*moved.shape[:-1], matrix.shape[1])


def _split(x: torch.Tensor, dim: int) -> Parts:
    """Real parts, then imaginary ones along the last dimension -> both, with that dimension at `dim`."""
    first, second = x.split(x.shape[-1] // 2, -1)
    return first.movedim(-1, dim), second.movedim(-1, dim)


def _complex(parts: Parts, dim: int, sign: int) -> Parts:
    cosine, sine = _waves(parts[0].shape[dim], parts[0].shape[dim])
    matrix = np.block([[cosine, sign * sine], [-sign * sine, cosine]])
    return _split(_along(torch.cat(parts, dim), dim, matrix), dim)


def _factor(sizes: Sequence[int], normalization: int) -> float:
    """What torch scales by: nothing, the root of the number of elements, or that number."""
    return (1.0, 1 / math.sqrt(math.prod(sizes)), 1 / math.prod(sizes))[normalization]


def _scaled(parts: Parts, factor: float) -> Parts:
    return parts if factor == 1 else (parts[0] * factor, parts[1] * factor)


def from_real(x: torch.Tensor, dims: Sequence[int], normalization: int, onesided: bool) -> Parts:
    """``aten._fft_r2c``: the last one of `dims` may be cut to the half that says all."""
    *others, last = dims
    length = x.shape[last]
    cosine, sine = _waves(length, length // 2 + 1 if onesided else length)
    parts = _split(_along(x, last, np.concatenate([cosine, -sine], 1)), last)
    for dim in others:
        parts = _complex(parts, dim, -1)
    return _scaled(parts, _factor([x.shape[dim] for dim in dims], normalization))


def between_complex(parts: Parts, dims: Sequence[int], normalization: int, forward: bool) -> Parts:
    """``aten._fft_c2c``."""
    sizes = [parts[0].shape[dim] for dim in dims]
    for dim in dims:
        parts = _complex(parts, dim, -1 if forward else 1)
    return _scaled(parts, _factor(sizes, normalization))


def to_real(parts: Parts, dims: Sequence[int], normalization: int, length: int) -> torch.Tensor:
    """``aten._fft_c2r``: the last one of `dims` holds the half of a spectrum, and gets `length` elements."""
    *others, last = dims
    for dim in others:
        parts = _complex(parts, dim, 1)
    count = length // 2 + 1
    weight = np.full((count, 1), 2.0)
    weight[0] = 1.0
    if length % 2 == 0:
        weight[-1] = 1.0
    cosine, sine = (weight * wave[:, :length] for wave in (w.T for w in _waves(length, count)))
    parts = parts[0].narrow(last, 0, count), parts[1].narrow(last, 0, count)
    found = _along(torch.cat(parts, last), last, np.concatenate([cosine, -sine])).movedim(-1, last)
    factor = _factor([length, *(parts[0].shape[dim] for dim in others)], normalization)
    return found if factor == 1 else found * factor
