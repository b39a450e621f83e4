"""Upsample for the reference evaluator, which has the nearest neighbour only, and no scales that are an attribute."""

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


def _along(x: np.ndarray, axis: int, scale: float, linear: bool) -> np.ndarray:
    extent = x.shape[axis]
    places = np.arange(int(np.floor(extent * scale))) / np.float32(scale)
    low = np.minimum(np.floor(places).astype(np.int64), extent - 1)
    nearest = np.take(x, low, axis)
    if not linear:
        return nearest
    part = (places - low).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return nearest * (1 - part) + np.take(x, np.minimum(low + 1, extent - 1), axis) * part


class Upsample(OpRun):
    """Every place of the result at the coordinate i / scale: the element below it, or between it and the next."""

    def _run(self, x: np.ndarray, scales: Any = None, mode: str = "nearest") -> Any:
        result = x
        for axis, scale in enumerate(scales):
            if scale != 1:
                result = _along(result, axis, float(scale), mode != "nearest")
        return (result.astype(x.dtype),)
