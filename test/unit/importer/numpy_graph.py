"""The graph dialect executed with numpy, straight from the docstrings of its operations: a test oracle."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph


def _attributes(op: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in op.attributes:
        key, attribute = (name.name, name.attr) if hasattr(name, "attr") else (name, op.attributes[name])
        if "." in key:  # of another dialect
            continue
        if isinstance(attribute, ir.DenseI64ArrayAttr):
            out[key] = list(attribute)
        elif hasattr(attribute, "value"):
            out[key] = attribute.value
        else:
            out[key] = attribute
    return out


_UNARY: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "reciprocal": np.reciprocal, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "sin": np.sin, "cos": np.cos,
    "not": np.logical_not, "is_nan": np.isnan, "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh, "softplus": lambda x: np.log1p(np.exp(x)), "erf": np.vectorize(math.erf),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "leaky_relu": lambda x, alpha: np.where(x >= 0, x, alpha * x),
    "elu": lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(x)),
    "selu": lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.expm1(x)),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "round_to": lambda x, format: x.astype(getattr(ml_dtypes, format)).astype(x.dtype),
    "clip": lambda x, min=-np.inf, max=np.inf: np.minimum(np.maximum(x, min), max),
}  # fmt: skip
_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "pow": np.power,
    "greater": np.greater, "less": np.less, "equal": np.equal, "greater_or_equal": np.greater_equal,
    "less_or_equal": np.less_equal, "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
    "mod": lambda a, b, fmod: np.fmod(a, b) if fmod else np.mod(a, b), "matmul": np.matmul, "where": np.where,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
    "div": lambda a, b: np.trunc(a / b) if a.dtype.kind in "iu" else a / b,  # bfloat16 is of kind V
}  # fmt: skip
_REDUCE: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean, "prod": np.prod,
    "l1": lambda x, **k: np.sum(np.abs(x), **k), "l2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "sum_square": lambda x, **k: np.sum(x * x, **k), "log_sum": lambda x, **k: np.log(np.sum(x, **k)),
    "log_sum_exp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
}  # fmt: skip


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _gemm(a, b, c=0.0, *, alpha, beta, transA, transB):
    return alpha * (a.T if transA else a) @ (b.T if transB else b) + beta * c


def _slice(x: np.ndarray, starts: list[int], limits: list[int], steps: list[int]) -> np.ndarray:
    ranges = [range(*triple) for triple in zip(starts, limits, steps, strict=True)]
    return x[np.ix_(*ranges)] if ranges else x


def _pad(x: np.ndarray, low: list[int], high: list[int], value: float, mode: str) -> np.ndarray:
    options = {"constant_values": value} if mode == "constant" else {}
    return np.pad(x, list(zip(low, high, strict=True)), mode=mode, **options)  # pyright: ignore


def _arg_reduce(x, kind, axis, keepdims, select_last):
    values = np.flip(x, axis) if select_last else x
    index = (np.argmax if kind == "max" else np.argmin)(values, axis=axis, keepdims=keepdims)
    return x.shape[axis] - 1 - index if select_last else index


def _pool(x, kind, kernel, strides, pads, dilations, ceil_mode, count_include_pad, p=2):
    rank = len(kernel)
    high = [pads[rank + i] + kernel[i] * dilations[i] + strides[i] for i in range(rank)]
    wide = [(0, 0), (0, 0), *zip(pads[:rank], high, strict=True)]
    counted = [(0, 0), (0, 0), *[(pads[i], pads[rank + i]) for i in range(rank)]]
    fill = -np.inf if kind == "max" else 0
    data = np.pad(x.astype(float), wide, constant_values=fill)
    inside = np.pad(np.ones_like(x, float), counted, constant_values=float(count_include_pad))
    inside = np.pad(inside, [(0, a - b) for a, b in zip(data.shape, inside.shape, strict=True)])
    shape = graph_shapes_window(x.shape[2:], kernel, strides, pads, dilations, ceil_mode)
    out = np.zeros((*x.shape[:2], *shape))
    for place in np.ndindex(*shape):
        cut = tuple(
            slice(place[i] * strides[i], place[i] * strides[i] + (kernel[i] - 1) * dilations[i] + 1, dilations[i])
            for i in range(rank)
        )
        window, axes = data[(slice(None), slice(None), *cut)], tuple(range(2, 2 + rank))
        if kind == "max":
            value = window.max(axis=axes)
        elif kind == "average":
            value = window.sum(axis=axes) / inside[(slice(None), slice(None), *cut)].sum(axis=axes)
        else:
            value = (np.abs(window) ** p).sum(axis=axes) ** (1 / p)
        out[(slice(None), slice(None), *place)] = value
    return out


def _conv(x, w, bias=None, *, strides, pads, dilations, group):
    rank, (outputs, inputs, *kernel) = len(strides), w.shape
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    extents = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, strides, strict=True)]
    result = np.zeros((x.shape[0], outputs, *extents), x.dtype)
    for m, *place in np.ndindex(outputs, *extents):
        first = m // (outputs // group) * inputs
        window = tuple(slice(p * s, p * s + r, d) for p, s, r, d in zip(place, strides, reach, dilations, strict=True))
        seen = padded[(slice(None), slice(first, first + inputs), *window)] * w[m]
        result[(slice(None), m, *place)] = seen.reshape(len(x), -1).sum(-1) + (0 if bias is None else bias[m])
    return result


def graph_shapes_window(extents, kernel, strides, pads, dilations, ceil_mode):
    from mnc.dialects.graph.shapes import window

    return window(extents, kernel, strides, pads, dilations, ceil_mode)


def _layer_norm(x, scale, bias=0.0, *, axis, epsilon):
    axes = tuple(range(axis, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)
    return (x - mean) * inverse * scale + bias, mean, inverse


def _batch_norm(x, scale, bias, mean, variance, epsilon):
    form = (-1, *[1] * (x.ndim - 2))
    scale, bias, mean, variance = (v.reshape(form) for v in (scale, bias, mean, variance))
    return (x - mean) / np.sqrt(variance + epsilon) * scale + bias


def _gelu(x, approximate):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _cumsum(x, axis, exclusive, reverse):
    x = np.flip(x, axis) if reverse else x
    out = np.cumsum(x, axis) - (x if exclusive else 0)
    return np.flip(out, axis) if reverse else out


def _batch_gather(x, indices, axis, batch_dims):
    shape = x.shape[:batch_dims]
    lines = [np.take(x[place], indices[place], axis - batch_dims) for place in np.ndindex(*shape)]
    return np.stack(lines).reshape(*shape, *lines[0].shape)


_OTHER: dict[str, Callable[..., Any]] = {
    "gemm": _gemm, "softmax": _softmax, "log_softmax": lambda x, axis: np.log(_softmax(x, axis)), "slice": _slice,
    "transpose": lambda x, permutation: np.transpose(x, permutation), "pad": _pad, "arg_reduce": _arg_reduce,
    "concat": lambda a, b, axis: np.concatenate([a, b], axis), "gather": lambda x, i, axis: np.take(x, i, axis),
    "reduce": lambda x, kind, axes, keepdims: _REDUCE[kind](x, axis=tuple(axes), keepdims=keepdims),
    "layer_norm": _layer_norm, "batch_norm": _batch_norm, "gelu": _gelu, "cum_sum": _cumsum, "pool": _pool,
    "conv": _conv, "batch_gather": _batch_gather,
}  # fmt: skip
SUPPORTED = frozenset([*_UNARY, *_BINARY, *_OTHER, "constant", "reshape", "broadcast_to", "cast", "bitcast"])


def _run(op: Any, operands: list[np.ndarray], result_type: Any) -> Any:
    kind = op.name.removeprefix("graph.")
    shape, dtype = tuple(result_type.shape), graph.numpy_dtype(result_type.element_type)
    if kind == "constant":
        return graph.to_numpy(op.attributes["value"])
    if kind == "reshape":
        return operands[0].reshape(shape)
    if kind == "broadcast_to":
        return np.broadcast_to(operands[0], shape)
    if kind == "cast":
        return operands[0].astype(dtype)
    if kind == "bitcast":
        return operands[0].reshape(-1).view(dtype).reshape(shape)
    return (_UNARY.get(kind) or _BINARY.get(kind) or _OTHER[kind])(*operands, **_attributes(op))


def evaluate(module: ir.Module, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Run ``@main`` on named inputs; every result must have the type that the operation states."""
    function = module.body.operations[0]
    block = function.body.blocks[0]  # pyright: ignore
    attributes = function.arg_attrs if len(block.arguments) else []  # pyright: ignore
    names = [ir.StringAttr(ir.DictAttr(attribute)["onnx.name"]).value for attribute in attributes]
    values = {argument: inputs[name] for argument, name in zip(block.arguments, names, strict=True)}
    for view in block.operations:
        op = view.operation
        operands = [values[operand] for operand in op.operands]
        if op.name == "func.return":
            return operands
        with np.errstate(all="ignore"):
            out = _run(op, operands, ir.RankedTensorType(op.results[0].type))
        for result, value in zip(op.results, out if isinstance(out, tuple) else (out,), strict=True):
            type_ = ir.RankedTensorType(result.type)
            array = np.asarray(value).astype(graph.numpy_dtype(type_.element_type))
            assert array.shape == tuple(type_.shape), f"{op.name}: {array.shape} is not {type_}"
            values[result] = array
    raise AssertionError("no return")
