"""Frequencies of a discrete Fourier transform."""

from typing import Any

import numpy as np
import torch

from mnc.torch.decompositions.resampling import constant

_aten = torch.ops.aten


def fftfreq(n: int, d: float = 1.0, *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    """``aten.fft_fftfreq``."""
    return constant(np.fft.fftfreq(n, d), dtype or torch.get_default_dtype())


def rfftfreq(n: int, d: float = 1.0, *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    """``aten.fft_rfftfreq``."""
    return constant(np.fft.rfftfreq(n, d), dtype or torch.get_default_dtype())


DECOMPOSITIONS = {
    _aten._neg_view.default: torch.neg,  # of the imaginary part of a conjugate
    _aten.fft_fftfreq.default: fftfreq,
    _aten.fft_rfftfreq.default: rfftfreq,
}
