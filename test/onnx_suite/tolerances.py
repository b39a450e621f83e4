"""How far a result may be from the expected one.

The bound is made for every element of every output: what the machine may round on the way to it and what the reference
that made the expected value may have rounded (`mnc.accuracy.worst_case`), and what the host rounds when it turns a
single into a 16-bit type. Integers and booleans must be equal, unless they come from floats whose errors reach a border
between two of them. Nothing is fitted to a test.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from mnc.accuracy.rounding import SMALLEST_NORMAL


@dataclass(frozen=True)
class Verdict:
    """Whether an output is within its bound; `text` describes the worst element."""

    passed: bool
    text: str


def is_floating(dtype: np.dtype) -> bool:
    """Float types, those of ml_dtypes included."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def written_error(values: np.ndarray) -> float:
    """A unit of the fourth decimal where a case writes its expected values by hand with four decimals.

    Such a value need not be the nearest one. Values with fewer decimals are exact in those cases, and generated values
    have all of theirs.
    """
    thousandths = values * 1000
    if np.abs(thousandths * 10 - np.round(thousandths * 10)).max(initial=0) > 1e-2:
        return 0.0
    return 0.0 if np.abs(thousandths - np.round(thousandths)).max(initial=0) < 1e-2 else 1e-4


def _host_rounding(want: np.ndarray) -> np.ndarray:
    """Half a unit of the last place of a 16-bit type."""
    if want.dtype.itemsize >= 4:
        return np.zeros(want.shape)
    limits = ml_dtypes.finfo(want.dtype)
    size = np.maximum(np.abs(want.astype(np.float64)), max(float(limits.smallest_normal), SMALLEST_NORMAL))
    return np.where(np.isfinite(size), size, 0) * 2.0 ** -(limits.nmant + 1)


def judge(got: np.ndarray, want: np.ndarray, bound: np.ndarray) -> Verdict:
    """Compare one output. Shapes and types must be equal, elements within `bound`."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return Verdict(False, f"gives {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}")
    if not want.size:
        return Verdict(True, "empty")
    a, b = got.astype(np.float64), want.astype(np.float64)
    limit = np.broadcast_to(bound, want.shape)
    if is_floating(want.dtype):
        limit = limit + _host_rounding(want) + written_error(b[np.isfinite(b)]) + SMALLEST_NORMAL
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / limit)
    excess = np.where(np.isnan(excess), np.inf, excess)
    if excess.max() <= 1:
        return Verdict(True, f"{excess.max():.2f} of the bound")
    at = tuple(int(i) for i in np.unravel_index(int(excess.argmax()), want.shape))
    many = int((excess > 1).sum())
    return Verdict(False, f"{many} of {want.size} out of bound, worst {a[at]:.8g} instead of {b[at]:.8g} at {at}, "
                          f"bound {limit[at]:.2g}")  # fmt: skip
