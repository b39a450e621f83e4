"""Pooling for the reference evaluator, by the definition: every window gathered, and the places outside left out.

The evaluator of ONNX takes uneven pads, SAME_LOWER and ceil_mode together with count_include_pad for something else,
and knows the global maximum of pictures only.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from mnc.core.float_types import is_floating
from mnc.dialects.graph import shapes


def _pads(extents: Sequence[int], window: Sequence[Sequence[int]], given: Sequence[int] | None, auto: str) -> list[int]:
    """All low pads, then all high ones; `window` is kernel, strides, dilations."""
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        return list(given) if given and auto != "VALID" else [0] * (2 * len(extents))
    totals = [
        max((-(-extent // stride) - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0)
        for extent, kernel, stride, dilation in zip(extents, *window, strict=True)
    ]
    small, large = [total // 2 for total in totals], [-(-total // 2) for total in totals]
    return [*small, *large] if auto == "SAME_UPPER" else [*large, *small]


class Windows:
    """The windows of `x` of shape (batch, channels, d...) as one dimension at the end."""

    def __init__(self, x: np.ndarray, kernel_shape: Sequence[int], strides: Sequence[int] | None = None,
                 dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None, auto_pad: str = "NOTSET",
                 ceil_mode: int = 0) -> None:  # fmt: skip
        extents, rank = x.shape[2:], x.ndim - 2
        strides, dilations = list(strides or [1] * rank), list(dilations or [1] * rank)
        self.pads = _pads(extents, (kernel_shape, strides, dilations), pads, auto_pad)
        shape = shapes.window(extents, kernel_shape, strides, self.pads, dilations, bool(ceil_mode))
        self.extents, self.places = extents, []
        for i in range(rank):
            starts = np.arange(shape[i]) * strides[i] - self.pads[i]
            self.places.append(starts[:, None] + np.arange(kernel_shape[i]) * dilations[i])
            x = np.take(x, np.clip(self.places[i], 0, extents[i] - 1), axis=2 + 2 * i)
        order = [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)]
        self.values = x.transpose(order).reshape(*x.shape[:2], *shape, -1)
        self.shape = shape

    def whether(self, inside: Any) -> np.ndarray:
        """(d..., window): whether ``inside(places, dimension)`` holds in all dimensions."""
        rank, result = len(self.places), np.array(True)
        for i, places in enumerate(self.places):
            result = result & inside(places, i).reshape(self._spread(places, i))
        return np.broadcast_to(result, [*self.shape, *(p.shape[1] for p in self.places)]).reshape(*self.shape, -1) \
            if rank else result  # fmt: skip

    def inside(self) -> np.ndarray:
        """(d..., window): whether an element of a window is one of the tensor."""
        return self.whether(lambda places, i: (places >= 0) & (places < self.extents[i]))

    def padded(self) -> np.ndarray:
        """(d..., window): whether it is one of the tensor or of its padding."""
        return self.whether(lambda places, i: places < self.extents[i] + self.pads[len(self.extents) + i])

    def flat(self, column_first: bool) -> np.ndarray:
        """(d..., window): number of the element within the tensor of one channel."""
        order = range(len(self.extents))
        weight, total = 1, np.array(0)
        for i in order if column_first else reversed(order):
            total = total + self.places[i].reshape(self._spread(self.places[i], i)) * weight
            weight *= self.extents[i]
        shape = [*self.shape, *(places.shape[1] for places in self.places)]
        return np.broadcast_to(total, shape).reshape(*self.shape, -1)

    def _spread(self, places: np.ndarray, i: int) -> list[int]:
        rank = len(self.places)
        return [n for j in range(rank) for n in [places.shape[0] if j == i else 1]] + [
            places.shape[1] if j == i else 1 for j in range(rank)
        ]


class MaxPool(OpRun):
    """The first largest element of every window, and where it is."""

    def _run(self, x: np.ndarray, storage_order: int = 0, **window: Any) -> Any:
        windows = Windows(x, **window)
        lowest = x.dtype.type(-np.inf) if is_floating(x.dtype) else np.iinfo(x.dtype).min
        values = np.where(windows.inside(), windows.values, lowest)
        result = values.max(-1).astype(x.dtype)
        if len(self.onnx_node.output) < 2:
            return (result,)
        first = np.argmax(values == values.max(-1, keepdims=True), axis=-1)
        flat = np.broadcast_to(windows.flat(bool(storage_order)), values.shape)
        inner = np.take_along_axis(flat, first[..., None], -1)[..., 0]
        channels = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
        return result, inner + channels * int(np.prod(x.shape[2:]))


class AveragePool(OpRun):
    """The mean of every window; with count_include_pad the zeros of the padding count, what lies behind it does not."""

    def _run(self, x: np.ndarray, count_include_pad: int = 0, **window: Any) -> Any:
        windows = Windows(x, **window)
        inside = windows.inside()
        count = (windows.padded() if count_include_pad else inside).sum(-1)
        return ((np.where(inside, windows.values, 0).sum(-1) / count).astype(x.dtype),)


class LpPool(OpRun):
    """The p-norm of every window."""

    def _run(self, x: np.ndarray, p: int = 2, **window: Any) -> Any:
        windows = Windows(x, **window)
        powers = np.where(windows.inside(), np.abs(windows.values), 0) ** p
        return ((powers.sum(-1) ** (1 / p)).astype(x.dtype),)


class GlobalMaxPool(OpRun):
    """The largest element of every channel, for any number of dimensions."""

    def _run(self, x: np.ndarray, **_: Any) -> Any:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class GlobalLpPool(OpRun):
    """The p-norm of every channel."""

    def _run(self, x: np.ndarray, p: int = 2) -> Any:
        powers = (np.abs(x) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
        return ((powers ** (1 / p)).astype(x.dtype),)
