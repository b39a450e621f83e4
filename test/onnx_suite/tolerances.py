"""How far a result may be from the expected one, by element type and by what the model computes.

Derived, never fitted to a test:

- Element-wise functions are accurate to a few units in the last place of single (docs/math.md measures each); a chain
  of them, as in a normalisation or a loss, to some tens. `RELATIVE` is 64 units.
- Sums cancel: the error is relative to the magnitude of the terms, for which the root mean square of the result stands
  in. `ROOT_MEAN_SQUARE` bounds a matrix product, convolution or reduction per layer and grows with the square root of
  their number.
- Half and bfloat16 results are computed in single from the given values and rounded by the host: half a unit in the
  last place of the type, and the reference, which may compute in the type itself, is allowed the same per operation.
- Below the smallest normal number the machine has only zero.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

SMALLEST_NORMAL = 2.0**-126
ROOT_MEAN_SQUARE = {"single": 1e-5, "pseudo-single": 1e-4}
BLOCK_STEP = {"single": 2.0**-22, "pseudo-single": 2.0**-17}
RELATIVE = 64 * 2.0**-24
REFERENCE_ROUNDINGS = 4  # a reference in 16 bits rounds every intermediate result

SUMMING = frozenset([
    "AveragePool", "Conv", "ConvTranspose", "CumSum", "Einsum", "Gemm", "GlobalAveragePool", "MatMul", "LpPool", "Mean",
    "GlobalLpPool", "Attention", "DFT", "STFT", "GridSample", "Resize", "Upsample", "LRN", "RotaryEmbedding", "Det",
    "Mod", "HannWindow", "HammingWindow", "BlackmanWindow",
])  # fmt: skip
_SUMMING_PREFIXES = ("Reduce", "LSTM", "GRU", "RNN", "Softmax", "LogSoftmax", "NegativeLog", "Linear", "Causal")


@dataclass(frozen=True)
class Verdict:
    """Whether an output is within its bound; `text` describes the worst element."""

    passed: bool
    text: str


def is_sum(op_type: str) -> bool:
    """Whether results of the operator are sums, or normalised by sums."""
    return op_type in SUMMING or op_type.startswith(_SUMMING_PREFIXES) or "Normalization" in op_type


def spacing(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Distance of neighbouring numbers of a float type at these values (double precision)."""
    limits = ml_dtypes.finfo(dtype)
    smallest = max(float(limits.smallest_normal), SMALLEST_NORMAL)
    _, exponent = np.frexp(np.maximum(np.abs(values), smallest))
    return np.ldexp(1.0, exponent - 1 - limits.nmant)


def written_error(values: np.ndarray) -> float:
    """A unit of the fourth decimal where a case writes its expected values by hand with four decimals."""
    thousandths = values * 1000
    if np.abs(thousandths * 10 - np.round(thousandths * 10)).max(initial=0) > 1e-2:
        return 0.0
    return 0.0 if np.abs(thousandths - np.round(thousandths)).max(initial=0) < 1e-2 else 1e-4


def bound(want: np.ndarray, precision: str, layers: int, largest: float = 0.0) -> np.ndarray:
    """Absolute bound for every element of a float result that `layers` summing operators lead to.

    `largest` is the largest magnitude among the inputs: the elements of a block that the matrix unit converts share the
    exponent of the largest one.
    """
    values = want.astype(np.float64)
    finite = values[np.isfinite(values)]
    size = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    result = np.abs(values) * RELATIVE + SMALLEST_NORMAL + written_error(finite)
    if layers:
        result = result + ROOT_MEAN_SQUARE[precision] * np.sqrt(layers) * size + BLOCK_STEP[precision] * largest
    if want.dtype.itemsize < 4:
        result = result + REFERENCE_ROUNDINGS * spacing(values, want.dtype)
    return result


def is_floating(dtype: np.dtype) -> bool:
    """Float types, those of ml_dtypes included."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def judge(got: np.ndarray, want: np.ndarray, precision: str, layers: int, largest: float = 0.0) -> Verdict:
    """Compare one output. Shapes and types must be equal, integers and booleans equal, floats within `bound`."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return Verdict(False, f"gives {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}")
    if not is_floating(want.dtype):
        wrong = np.argwhere(got != want)
        if not len(wrong):
            return Verdict(True, "equal")
        at = tuple(int(i) for i in wrong[0])
        return Verdict(False, f"{len(wrong)} of {want.size} differ, first {got[at]} instead of {want[at]} at {at}")
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(invalid="ignore"):
        excess = np.where(a == b, 0.0, np.abs(a - b) / bound(want, precision, layers, largest))
    excess = np.where(np.isnan(excess), np.inf, excess)
    if not want.size or excess.max() <= 1:
        return Verdict(True, f"{excess.max(initial=0):.2f} of the bound")
    at = tuple(int(i) for i in np.unravel_index(int(excess.argmax()), want.shape))
    many = int((excess > 1).sum())
    return Verdict(False, f"{many} of {want.size} out of bound, worst {a[at]:.8g} instead of {b[at]:.8g} at {at}")
