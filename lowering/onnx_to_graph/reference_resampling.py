"""Upsample, Resize and GridSample for the reference evaluator.

The evaluator of ONNX has Upsample to the nearest neighbour only, and no scales that are an attribute. Of cubic samples
with the padding `border` it moves those to the border that are further outside than half an element, and no others, so
that the result jumps there; PyTorch, which GridSample is from, and ONNX Runtime move none, only the elements that are
read. And it does not know the names that the modes had first. Resize loses an element where the product of extent and
scale is rounded up to a whole number, see `resize_scales`, takes operands without elements, which are as good as
none, at their word, and knows no axes that are counted from the end.
"""

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_grid_sample, op_resize

from mnc.lowering.onnx_to_graph.reachable_scale import reachable


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
                result = _along(result, axis, float(reachable(scale, x.shape[axis])), mode != "nearest")
        return (result.astype(x.dtype),)


class Resize(op_resize.Resize):
    """Of as many elements as the product of single floats says, or as the sizes do if there are any."""

    def _run(self, X: np.ndarray, roi: Any = None, scales: Any = None, sizes: Any = None, axes: Any = None,
             **attributes: Any) -> Any:  # fmt: skip
        roi, scales, sizes = (None if value is None or not np.size(value) else value for value in (roi, scales, sizes))
        axes = None if axes is None else [axis % X.ndim for axis in axes]
        if scales is not None:
            named = range(X.ndim) if axes is None else axes
            scales = np.array([reachable(scale, X.shape[axis]) for scale, axis in zip(scales, named, strict=True)])
        return super()._run(X, roi, scales, sizes, axes=axes, **attributes)


class FirstResize(Upsample):
    """What operator set 10 calls so; attributes that came later have their defaults."""

    def _run(self, x: np.ndarray, scales: Any = None, mode: str = "nearest", **_: Any) -> Any:
        return super()._run(x, scales, mode)


class GridSample(op_grid_sample.GridSample):
    """Samples of which cubic ones with the padding `border` stay where they are; coordinates keep their precision."""

    def _run(self, X: np.ndarray, grid: np.ndarray, mode: str | None = None, padding_mode: str | None = None,
             align_corners: int | None = None) -> Any:  # fmt: skip
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode or "", mode)  # names of operator set 16
        self._stays = mode == "cubic" and padding_mode == "border"
        return super()._run(X, grid, mode, padding_mode, align_corners)

    def _gs_denormalize_coordinates(self, n: Any, dims: Any, align_corners: bool) -> np.ndarray:
        pairs = zip(n, dims, strict=False)
        return np.asarray([self._gs_denormalize(n=v, length=dim, align_corners=align_corners) for v, dim in pairs])

    def _prepare_border(self, dims: Any, align_corners: bool) -> np.ndarray:
        """Where samples are moved from: all low ends, then all high ones."""
        if self._stays:
            return np.repeat([-np.inf, np.inf], len(dims))
        return super()._prepare_border(dims, align_corners)
