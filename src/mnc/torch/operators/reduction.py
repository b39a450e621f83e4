"""Reductions, soft-max and normalisations that stay whole."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import fx

from mnc.torch.call import Call


def _axes(c: Call) -> list[int]:
    """The reduced dimensions; none given means all."""
    rank = len(c.shape_of("self"))
    dims: Any = c["dim"] if "dim" in c.names else None
    dims = [dims] if isinstance(dims, int) else list(dims or [])
    return sorted(c.axis(dim, rank) for dim in dims) or list(range(rank))


def _reduced(c: Call, op_type: str, source: str) -> str:
    axes, keep = _axes(c), int(bool("keepdim" in c.names and c["keepdim"]))
    if not axes:
        return source
    if op_type in ("ArgMax", "ArgMin"):
        return c.op(op_type, source, axis=axes[0], keepdims=keep)
    return c.op(op_type, source, c.writer.ints(axes), keepdims=keep)


def _reduce(op_type: str) -> Callable[[Call], str]:
    return lambda c: _reduced(c, op_type, c.operand("self", c.dtype))


def _some(op_type: str) -> Callable[[Call], str]:
    """any and all: the largest and smallest of 0 and 1."""

    def handler(c: Call) -> str:
        number = c.cast(c.operand("self", torch.bool), torch.bool, torch.int32)
        return c.cast(_reduced(c, op_type, number), torch.int32, torch.bool)

    return handler


def _arg(op_type: str) -> Callable[[Call], str]:
    def handler(c: Call) -> str:
        if c["dim"] is None:
            flat = c.reshape(c.operand("self"), [-1])
            return c.reshape(c.op(op_type, flat, axis=0, keepdims=0), c.shape)
        return _reduced(c, op_type, c.operand("self"))

    return handler


def _extreme(reduce: str, arg: str) -> Callable[[Call], str | list[str | None]]:
    """max and min: of everything, or values and their places along a dimension."""

    def handler(c: Call) -> str | list[str | None]:
        source = c.operand("self")
        if "dim" not in c.names:
            return _reduced(c, reduce, source)
        return [_reduced(c, reduce, source), _reduced(c, arg, source)]

    return handler


def _softmax(op_type: str) -> Callable[[Call], str]:
    def handler(c: Call) -> str:
        axis = c.axis(c["dim"], len(c.shape))
        return c.op(op_type, c.operand("self", c.dtype), axis=axis)

    return handler


def _cumsum(c: Call) -> str:
    axis = c.writer.constant(c.axis(c["dim"], len(c.shape)), torch.int64)
    return c.op("CumSum", c.operand("self", c.dtype), axis)


def _batch_norm(c: Call) -> list[str | None]:
    """Batch normalisation with given statistics; its empty second and third result are not written."""
    channels = c.shape_of("input")[1]
    scale, shift = (
        c.operand(name) if isinstance(c[name], fx.Node) else c.writer.constant([default] * channels, torch.float32)
        for name, default in (("weight", 1.0), ("bias", 0.0))
    )
    operands = (c.operand("input"), scale, shift, c.operand("running_mean"), c.operand("running_var"))
    return [c.op("BatchNormalization", *operands, epsilon=float(c["eps"])), None, None]


def _layer_norm(c: Call) -> list[str | None]:
    """Layer normalisation in inference, where nothing needs its statistics."""
    extents = list(c["normalized_shape"])
    scale = c.operand("weight") if isinstance(c["weight"], fx.Node) else c.writer.constant(np.ones(extents), c.dtype)
    shift = [c.operand("bias")] if isinstance(c["bias"], fx.Node) else []
    attributes = {"axis": -len(extents), "epsilon": float(c["eps"])}
    return [c.op("LayerNormalization", c.operand("input"), scale, *shift, **attributes), None, None]


OPERATORS = {
    "sum": _reduce("ReduceSum"),
    "mean": _reduce("ReduceMean"),
    "prod": _reduce("ReduceProd"),
    "amax": _reduce("ReduceMax"),
    "amin": _reduce("ReduceMin"),
    "any": _some("ReduceMax"),
    "all": _some("ReduceMin"),
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "max": _extreme("ReduceMax", "ArgMax"),
    "min": _extreme("ReduceMin", "ArgMin"),
    "_softmax": _softmax("Softmax"),
    "_log_softmax": _softmax("LogSoftmax"),
    "cumsum": _cumsum,
    "native_layer_norm": _layer_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
}
