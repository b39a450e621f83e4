"""Error bounds of matrix products, from what the machine rounds and nothing else.

A factor is converted to block floating point: an element of a block whose largest magnitude lies in [2^E, 2^(E+1)) is
off by at most 2^(E-M), twice that when rounding the largest carries out. Products and the sum over a block are exact;
adding a block to the accumulator rounds once to single; so does each stage of adding partial sums across PEs.
"""

import numpy as np

MANTISSA = {"single": 23, "pseudo-single": 18}
BLOCK = {"single": 4, "pseudo-single": 8}
REDUCTION_STAGES = 5  # MABs twice, L1Bs once, L2Bs twice at most


def conversion_error(values: np.ndarray, precision: str) -> np.ndarray:
    """Largest conversion error of every element; blocks run along the last dimension, eight elements over the PEs of a
    MAB. For single the even and the odd ones of these make a block each."""
    padded = np.zeros((*values.shape[:-1], -(-values.shape[-1] // 8) * 8))
    padded[..., : values.shape[-1]] = np.abs(values)
    eights = padded.reshape(*values.shape[:-1], -1, 8)
    if precision == "single":
        pairs = eights.reshape(*eights.shape[:-1], 4, 2)
        largest = np.broadcast_to(pairs.max(-2, keepdims=True), pairs.shape).reshape(eights.shape)
    else:
        largest = np.broadcast_to(eights.max(-1, keepdims=True), eights.shape)
    _, exponent = np.frexp(largest)
    bound = 2.0 * np.ldexp(1.0, exponent - 1 - MANTISSA[precision])
    return bound.reshape(padded.shape)[..., : values.shape[-1]]


def matmul_bound(x: np.ndarray, w: np.ndarray, precision: str) -> np.ndarray:
    """Bound for every element of x @ w.T, with x [m, k] and w [n, k]."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    dx, dw = conversion_error(x, precision), conversion_error(w, precision)
    conversion = np.abs(x) @ dw.T + dx @ np.abs(w).T + dx @ dw.T
    roundings = -(-x.shape[1] // BLOCK[precision]) + REDUCTION_STAGES
    return conversion + roundings * 2.0**-24 * ((np.abs(x) + dx) @ (np.abs(w) + dw).T)


def ulp(values: np.ndarray) -> np.ndarray:
    """Distance of neighbouring singles at these values, at least that of the smallest normal number."""
    return np.spacing(np.maximum(np.abs(values), 2.0**-126).astype(np.float32)).astype(np.float64)
