"""Which element types of arrays are floating point, and which are integers."""

import numpy as np

_FLOATS = ("bfloat16", "float8", "float6", "float4")
_INTEGERS = ("int2", "int4", "uint2", "uint4")


def is_floating(dtype: np.dtype) -> bool:
    """Whether numpy, or the package ml_dtypes on top of it, computes with this type as a float; its types are no kind
    of float to numpy itself."""
    return dtype.kind == "f" or dtype.name.startswith(_FLOATS)


def is_integer(dtype: np.dtype) -> bool:
    """The same for integers, those of 2 and 4 bits included; booleans are none."""
    return dtype.kind in "iu" or dtype.name in _INTEGERS
