"""Which element types of arrays are floating point."""

import numpy as np


def is_floating(dtype: np.dtype) -> bool:
    """Whether numpy, or the package ml_dtypes on top of it, computes with this type as a float; bfloat16 is no kind of
    float to numpy itself."""
    return dtype.kind == "f" or dtype.name == "bfloat16"
