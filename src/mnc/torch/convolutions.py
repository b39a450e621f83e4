"""Convolutions for the ONNX reference evaluator, whose own are loops in Python: 100 times as slow, and each copies its
windows. The functions that compute them here are not those that an export translates: gradients of convolutions are
convolutions of other shapes by then.
"""

from typing import Any

import numpy as np
import torch
from onnx.reference.op_run import OpRun

_aten = torch.ops.aten


def _given(value: Any, count: int, default: int) -> list[int]:
    return [int(n) for n in value] if value else [default] * count


def _as_torch(value: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.require(value, requirements=["C", "W"]))


class Conv(OpRun):
    """Convolution with explicit paddings, which exports have."""

    def _run(self, X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, **attributes: Any) -> Any:
        rank = X.ndim - 2
        if attributes.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET", None):
            raise NotImplementedError("Conv with auto_pad")
        pads = _given(attributes.get("pads"), 2 * rank, 0)
        padded = np.pad(X, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
        strides, dilations = (_given(attributes.get(name), rank, 1) for name in ("strides", "dilations"))
        bias = None if B is None else _as_torch(B)
        with torch.no_grad():
            result = _aten.convolution(
                _as_torch(padded), _as_torch(W), bias, strides, [0] * rank, dilations, False, [0] * rank,
                int(attributes.get("group") or 1),
            )  # fmt: skip
        return (result.numpy(),)


class ConvTranspose(OpRun):
    """Transposed convolution with explicit paddings; what differs on both sides is cut afterwards."""

    def _run(self, X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, **attributes: Any) -> Any:
        rank = X.ndim - 2
        if attributes.get("output_shape") or attributes.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET", None):
            raise NotImplementedError("ConvTranspose with output_shape or auto_pad")
        pads = _given(attributes.get("pads"), 2 * rank, 0)
        strides, dilations = (_given(attributes.get(name), rank, 1) for name in ("strides", "dilations"))
        extra = _given(attributes.get("output_padding"), rank, 0)
        with torch.no_grad():
            whole = _aten.convolution(
                _as_torch(X), _as_torch(W), None, strides, [0] * rank, dilations, True, [0] * rank,
                int(attributes.get("group") or 1),
            ).numpy()  # fmt: skip
        whole = np.pad(whole, [(0, 0), (0, 0), *((0, n) for n in extra)])
        ends = [n - high for n, high in zip(whole.shape[2:], pads[rank:], strict=True)]
        result = whole[(slice(None), slice(None), *map(slice, pads[:rank], ends))]
        return (result if B is None else result + B.reshape(-1, *[1] * rank),)


FASTER = (Conv, ConvTranspose)
