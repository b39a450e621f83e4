"""Element types of ONNX and those that their values lie in.

The graph has no types of fewer than 8 bits but booleans, and no floats of fewer than 16: integers of 2 and 4 bits lie
in those of 8, floats of 4, 6 and 8 bits in singles. Conversion to such a type limits the value to what the type holds
(`ops.conversion`); operators that only move elements need to know nothing of it.
"""

from typing import Any

import numpy as np
import onnx

from mnc.dialects import graph

_TYPES = onnx.TensorProto
NARROW_INTEGERS: dict[int, tuple[type[np.integer[Any]], int]] = {
    _TYPES.INT4: (np.int8, 4),
    _TYPES.UINT4: (np.uint8, 4),
    _TYPES.INT2: (np.int8, 2),
    _TYPES.UINT2: (np.uint8, 2),
}
"""ONNX type -> type that holds it, and its bits."""
POWER_OF_TWO = _TYPES.FLOAT8E8M0
"""8 bits of exponent and nothing else: what scales of blocks are."""
NARROW_FLOATS = frozenset(
    [_TYPES.FLOAT8E4M3FN, _TYPES.FLOAT8E4M3FNUZ, _TYPES.FLOAT8E5M2, _TYPES.FLOAT8E5M2FNUZ, _TYPES.FLOAT4E2M1,
     _TYPES.FLOAT6E2M3, _TYPES.FLOAT6E3M2, POWER_OF_TWO]
)  # fmt: skip


def held_dtype(onnx_type: int) -> np.dtype:
    """numpy type in which values of an ONNX type lie in the graph; raises ValueError or KeyError for types without
    numbers."""
    if onnx_type in NARROW_INTEGERS:
        return np.dtype(NARROW_INTEGERS[onnx_type][0])
    return np.dtype(np.float32) if onnx_type in NARROW_FLOATS else onnx.helper.tensor_dtype_to_np_dtype(onnx_type)


def held_type(onnx_type: int) -> Any:
    """MLIR element type in which values of an ONNX type lie; raises ValueError or KeyError if there is none."""
    return graph.element_type(held_dtype(onnx_type))


def held(array: np.ndarray) -> np.ndarray:
    """An array in the type in which its values lie in the graph."""
    try:
        onnx_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    except (ValueError, KeyError):
        return array
    is_narrow = onnx_type in NARROW_INTEGERS or onnx_type in NARROW_FLOATS
    return array.astype(held_dtype(onnx_type)) if is_narrow else array
