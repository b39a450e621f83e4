"""Matrices that the host prepares: halves in block float, in the order in which banks take them.

A matrix takes 16 long words of a PE, one per row: half of what the same numbers take as singles, and nothing is left to
convert. Long word r of PE p has elements 4p .. 4p + 3 of row r, the most significant first.
"""

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.kernels.matmul.halves import rows_of_matrix
from mnc.mncore_backend.kernels.matmul.spec import MatmulSpec
from mnc.mncore_backend.target import MATRIX_ROWS

ROWS = MATRIX_ROWS["h"]
_BIAS, _LEAST, _INFINITE = 31, 1, 63  # of the exponent of a half
_BITS = 9  # of a mantissa, without a hidden one


def packed_offsets(spec: MatmulSpec, start: int) -> NDArray[np.int64]:
    """Where the matrices of a product lie in a buffer, from long word `start` on: [steps of n, steps of k]."""
    return start + ROWS * np.arange(spec.n_steps * spec.k_steps).reshape(spec.n_steps, spec.k_steps)


def packed_longs(spec: MatmulSpec) -> int:
    """Long words of a PE that the matrices of a product take."""
    return ROWS * spec.n_steps * spec.k_steps


def sources(spec: MatmulSpec) -> NDArray[np.int64]:
    """Where the elements of the matrices come from, in the order of `packed_offsets`: [long words, half] as numbers of
    words in the share that a PE has of W as singles; -1 for zeros."""
    matrices = [rows_of_matrix(n, len(spec.w_offset)) for n in range(spec.n_steps)]
    padded = np.pad(spec.w_offset, ((0, 1), (0, spec.k_blocks % 2)), constant_values=-1)  # row -1 is the last one
    longs = padded[np.stack(matrices)]  # [steps of n, row, blocks of k]
    pairs = longs.reshape(spec.n_steps, ROWS, spec.k_steps, 2).transpose(0, 2, 1, 3).reshape(-1, 2)
    words = 2 * pairs[:, :, None] + np.arange(2)
    return np.where(pairs[:, :, None] >= 0, words, -1).reshape(-1, 4)


def to_half_blocks(values: NDArray[np.floating]) -> NDArray[np.uint16]:
    """Rows of blocks [..., 16] as halves with one exponent each, every element rounded to the nearest. A block with a
    number beyond the range of halves is infinite, as the machine would make it."""
    wide = np.abs(values.astype(np.float64))
    largest = wide.max(axis=-1, keepdims=True)
    exponent = np.where(largest > 0, np.frexp(largest)[1] - 1, -_BIAS)
    # What rounds up to the next power of two takes a larger exponent.
    exponent += np.rint(np.ldexp(largest, _BITS - 1 - exponent)) >= 2**_BITS
    biased = np.maximum(exponent + _BIAS, _LEAST)
    fits = np.isfinite(largest) & (biased < _INFINITE)
    biased = np.where(fits, biased, _INFINITE)
    mantissa = np.rint(np.ldexp(np.where(fits, wide, 0.0), _BITS - 1 + _BIAS - biased)).astype(np.uint16)
    sign = (np.signbit(values) & (mantissa > 0)).astype(np.uint16)
    return (sign << 15 | biased.astype(np.uint16) << _BITS | mantissa).astype(np.uint16)


def packed_words(values: NDArray[np.floating]) -> NDArray[np.int32]:
    """Blocks of 16 singles, [..., 16 n], as words of two halves, [..., 8 n], the first half the most significant."""
    halves = to_half_blocks(values.reshape(-1, ROWS)).astype(np.uint32)
    words = halves[:, 0::2] << 16 | halves[:, 1::2]
    return words.view(np.int32).reshape(*values.shape[:-1], values.shape[-1] // 2)
