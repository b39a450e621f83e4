"""Operators with as many results as the data say, where the reference of ONNX refuses or is wrong.

NonMaxSuppression: inputs may be left out, and numbers may be scalars. Unique: values in the order of their first places
come from the first operand's rows, whatever the axis is, and a node with one output is always sorted.
"""

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_non_max_suppression


class NonMaxSuppression(op_non_max_suppression.NonMaxSuppression):
    """With what is left out, and with scalars."""

    def _run(
        self, boxes: np.ndarray, scores: np.ndarray, most: Any = None, overlap: Any = None, threshold: Any = None,
        center_point_box: int | None = None,
    ) -> Any:  # fmt: skip
        given = [None if value is None else np.reshape(value, -1) for value in (most, overlap, threshold)]
        if given[0] is None or given[0][0] <= 0:
            return (np.zeros((0, 3), np.int64),)
        shares = np.zeros(1, np.float32) if given[1] is None else given[1]
        return super()._run(boxes, scores, given[0], shares, given[2], center_point_box=center_point_box or 0)


class Unique(OpRun):
    """In ascending order, or in the order of first places."""

    def _run(self, x: np.ndarray, axis: int | None = None, sorted: int | None = None) -> Any:
        values, indices, inverse, counts = np.unique(x, True, True, True, axis=axis)
        inverse = inverse.reshape(-1)
        if sorted == 0:
            order = np.argsort(indices)
            values = np.take(values, order, axis=axis or 0)
            indices, counts, inverse = indices[order], counts[order], np.argsort(order)[inverse]
        found = [values, *(array.astype(np.int64) for array in (indices, inverse, counts))]
        return tuple(found[: len(self.onnx_node.output)])
