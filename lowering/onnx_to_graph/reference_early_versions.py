"""DequantizeLinear and Scatter for the reference evaluator, in versions that the evaluator of ONNX lacks.

It has DequantizeLinear since operator set 19, and no Scatter, the name of ScatterElements before operator set 11.
"""

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class DequantizeLinear(OpRun):
    """(x - zero point) * scale, with one scale or one for each index of an axis. What came later has its default."""

    def _run(self, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None = None, axis: int = 1,
             **_: Any) -> Any:  # fmt: skip
        along = [1] * x.ndim
        if scale.size > 1:
            along[axis] = scale.size
        zero = np.int32(0) if zero_point is None else zero_point.astype(np.int32).reshape(along)
        return (((x.astype(np.int32) - zero).astype(scale.dtype) * scale.reshape(along)).astype(scale.dtype),)


class Scatter(OpRun):
    """A copy of the data with the updates at the indices along an axis."""

    def _run(self, data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int = 0) -> Any:
        places: list[np.ndarray] = list(np.indices(indices.shape, sparse=True))
        places[axis] = indices
        result: Any = data.copy()
        result[tuple(places)] = updates
        return (result,)
