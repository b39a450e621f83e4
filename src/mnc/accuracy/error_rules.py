"""How errors go through the operations of the graph dialect: a rule for each class of operation.

A rule takes the operation, its operands in double precision and bounds of their errors, and the exact result; it gives
a bound of the error that the result inherits. What the operation itself rounds is added by `error_analysis`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mnc.passes.graph.evaluate import python_attributes
from mnc.passes.graph.semantics import DEFINITIONS

Array = np.ndarray
Rule = Callable[[Any, Sequence[Array], Sequence[Array], Array], Array]


def kind_of(op: Any) -> str:
    """Name of an operation without its dialect."""
    return op.operation.name.removeprefix("graph.")


def apply(op: Any, *operands: Array, **changed: Any) -> Array:
    """The operation on other values, for instance on magnitudes."""
    result = DEFINITIONS[kind_of(op)](*operands, **{**python_attributes(op), **changed})
    return np.asarray(result[0] if isinstance(result, tuple) else result)


def _moved(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    if kind_of(op) in ("reshape", "broadcast_to"):
        return e[0].reshape(r.shape) if kind_of(op) == "reshape" else np.broadcast_to(e[0], r.shape)
    if kind_of(op) in ("gather", "batch_gather"):
        return apply(op, e[0], x[1])
    return apply(op, *e, **({"value": 0.0} if kind_of(op) == "pad" else {}))


def _largest(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    """Functions that bring no two values further apart, in each operand."""
    return np.maximum.reduce([np.broadcast_to(value, r.shape) for value in e])


def _sum(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    return e[0] + e[1]


def _product(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    return np.abs(x[0]) * e[1] + np.abs(x[1]) * e[0] + e[0] * e[1]


def _quotient(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    least = np.maximum(np.abs(x[1]) - e[1], 0)
    inherited = e[0] + np.where(e[1] > 0, np.abs(r) * e[1], 0)
    if x[0].dtype.kind in "iu":
        return np.ceil(inherited / np.maximum(least, 1))
    return np.where(inherited == 0, 0, inherited / least)


def _ends(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    """Functions that are monotonic between the ends of the interval: the largest deviation there."""
    low, high = {"sqrt": (0.0, np.inf), "log": (0.0, np.inf)}.get(kind_of(op), (-np.inf, np.inf))
    deviations = []
    for signs in np.ndindex(*[2] * len(x)):
        ends = [np.clip(v + (2 * s - 1) * d, low, high) for v, d, s in zip(x, e, signs, strict=True)]
        deviations.append(np.abs(apply(op, *ends) - r))
    return np.where(np.isfinite(r), np.maximum.reduce(deviations), 0)


def _steps(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    return np.abs(apply(op, x[0] + e[0]) - apply(op, x[0] - e[0]))


def _reciprocal(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    least = np.maximum(np.abs(x[0]) - e[0], 0)
    return np.where(e[0] == 0, 0, e[0] * np.abs(r) / least)


def _compared(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    total = e[0] + e[1]
    return ((total > 0) & (np.abs(x[0] - x[1]) <= total)).astype(np.float64)


def _selected(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    chosen = np.where(x[0].astype(bool), e[1], e[2])
    one, other = (value.astype(np.float64) for value in x[1:])  # booleans and unsigned numbers have no differences
    with_other = np.abs(np.where(np.isfinite(one) & np.isfinite(other), one - other, np.inf)) + e[1] + e[2]
    return np.where(e[0] > 0, with_other, chosen)


def _reduced(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    kind = python_attributes(op)["kind"]
    if not e[0].size:
        return np.zeros(r.shape)
    if kind in ("max", "min"):
        return apply(op, e[0], kind="max")
    if kind == "prod":
        size = np.abs(x[0].astype(np.float64))
        return np.where(apply(op, e[0], kind="max") > 0, apply(op, size + e[0]) - apply(op, size), 0)
    if kind in ("sum", "mean"):
        return apply(op, e[0])
    size = np.abs(x[0].astype(np.float64))
    deviation = np.abs(apply(op, size + e[0]) - apply(op, np.maximum(size - e[0], 0)))
    return np.where(apply(op, e[0], kind="max") > 0, deviation, 0)


def _place(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    """Another place may win where its value comes close enough to the best."""
    attributes = python_attributes(op)
    axis, sign = attributes["axis"], 1 if attributes["kind"] == "max" else -1
    value = sign * x[0]
    best = np.max(value - e[0], axis=axis, keepdims=True)
    rivals = np.sum(value + e[0] >= best, axis=axis, keepdims=attributes["keepdims"])
    disturbed = np.max(e[0], axis=axis, keepdims=attributes["keepdims"]) > 0
    return np.where(disturbed & (rivals > 1), float(x[0].shape[axis]), 0)


def _contraction(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    a, b = (np.abs(value.astype(np.float64)) for value in x[:2])
    inherited = apply(op, a, e[1]) + apply(op, e[0], b) + apply(op, e[0], e[1])
    return inherited if len(x) < 3 else inherited + e[2].reshape(-1, *[1] * (r.ndim - 2))


def _pooled(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    if python_attributes(op)["kind"] == "lp":
        size = np.abs(x[0])
        return apply(op, size + e[0]) - apply(op, np.maximum(size - e[0], 0))
    return apply(op, e[0])


def _remainder(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    inherited = e[0] + np.where(e[1] > 0, (np.abs(x[0] / x[1]) + 1) * e[1], 0)
    near = np.minimum(np.abs(r), np.abs(np.abs(x[1]) - np.abs(r))) <= inherited
    return np.where(inherited > 0, np.where(near, np.abs(x[1]), inherited), 0)


def _exactly(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    """Operations on bits: any error may become any other."""
    return np.where(_largest(op, x, e, r) > 0, np.inf, 0)


def _leaky(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    return e[0] * max(1.0, abs(python_attributes(op)["alpha"]))


def _cast(op: Any, x: Sequence[Array], e: Sequence[Array], r: Array) -> Array:
    if r.dtype.kind == "b":
        return ((e[0] > 0) & (np.abs(x[0]) <= e[0])).astype(np.float64)
    if r.dtype.kind in "iu" and x[0].dtype.kind not in "iub":
        return np.abs(np.trunc(x[0] + e[0]) - np.trunc(x[0] - e[0]))
    return e[0]


def _with(rule: Rule, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, rule)


RULES: Mapping[str, Rule] = {
    **_with(_moved, "reshape", "broadcast_to", "transpose", "slice", "concat", "pad", "gather", "batch_gather"),
    **_with(_largest, "neg", "abs", "relu", "clip", "max", "min", "and", "or", "xor", "not", "sin", "cos"),
    **_with(_sum, "add", "sub"),
    **_with(_product, "mul"),
    **_with(_quotient, "div"),
    **_with(_ends, "exp", "log", "sqrt", "tanh", "sigmoid", "erf", "softplus", "pow"),
    **_with(_steps, "floor", "ceil", "round", "sign", "round_to"),
    **_with(_reciprocal, "reciprocal"),
    **_with(_compared, "equal", "greater", "less", "greater_or_equal", "less_or_equal"),
    **_with(_exactly, "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right", "is_nan", "bitcast"),
    **_with(_contraction, "matmul", "conv", "conv_transpose"),
    "where": _selected, "reduce": _reduced, "arg_reduce": _place, "pool": _pooled, "mod": _remainder,
    "leaky_relu": _leaky, "cast": _cast, "cum_sum": _moved,
}  # fmt: skip


def terms(op: Any) -> int:
    """How many terms the sums of an operation have."""
    operands = [list(value.type.shape) for value in op.operation.operands]
    kind, attributes = kind_of(op), python_attributes(op)
    if kind == "reduce":
        return math.prod(operands[0][axis] for axis in attributes["axes"])
    if kind == "cum_sum":
        return operands[0][attributes["axis"]]
    if kind == "matmul":
        return operands[0][-1]
    if kind == "conv":
        return math.prod(operands[1][1:])
    if kind == "conv_transpose":
        return math.prod(operands[1]) // operands[1][1]
    return math.prod(attributes["kernel"]) if kind == "pool" else 1
