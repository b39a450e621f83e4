"""What is known about the numbers of a tensor: an interval, and whether the sign of a zero can be seen."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.passes.graph.matching import constant_of, size_of

Interval = tuple[float, float]
EVERYTHING: Interval = (-math.inf, math.inf)
_NOT_NEGATIVE: Interval = (0.0, math.inf)

_FIXED: dict[str, Interval] = {
    "sigmoid": (0, 1), "softmax": (0, 1), "hard_sigmoid": (0, 1), "tanh": (-1, 1), "erf": (-1, 1), "sin": (-1, 1),
    "cos": (-1, 1), "sign": (-1, 1), "exp": _NOT_NEGATIVE, "softplus": _NOT_NEGATIVE,
    "log_softmax": (-math.inf, 0),
}  # fmt: skip
_MOVED = ("transpose", "reshape", "broadcast_to", "slice", "gather", "batch_gather")
_SAME = frozenset([*_MOVED, "relu", "clip", "round", "floor", "ceil"])
_DEPTH = 8


def interval(value: ir.Value, depth: int = _DEPTH) -> Interval:
    """Bounds of all elements of `value` that are not NaN; they may be infinite."""
    owner = value.owner
    if isinstance(owner, ir.Block) or depth == 0:
        return EVERYTHING
    op = owner.operation
    kind = op.name.removeprefix("graph.")
    if kind == "constant":
        return _of_constant(value)
    if kind in _FIXED:
        return _FIXED[kind]
    if not op.name.startswith("graph."):
        return EVERYTHING
    return _of_operation(kind, op, [lambda v=v: interval(v, depth - 1) for v in op.operands])


def _of_constant(value: ir.Value) -> Interval:
    array = constant_of(value) if size_of(value) else None
    if array is None:
        return EVERYTHING
    array = array.astype(np.float64)
    if np.isnan(array).all():
        return EVERYTHING
    return float(np.nanmin(array)), float(np.nanmax(array))


def _of_operation(kind: str, op: Any, operands: list[Any]) -> Interval:
    if kind in _SAME:
        low, high = operands[0]()
        bounds = _clamp(kind, op)
        if kind in ("floor", "ceil", "round"):
            low, high = math.floor(low) if low > -math.inf else low, math.ceil(high) if high < math.inf else high
        return min(max(low, bounds[0]), bounds[1]), min(max(high, bounds[0]), bounds[1])
    if kind == "sqrt":
        low, high = operands[0]()
        return math.sqrt(max(low, 0)), math.sqrt(max(high, 0))
    if kind == "abs":
        low, high = operands[0]()
        return (0.0 if low < 0 < high else min(abs(low), abs(high))), max(abs(low), abs(high))
    if kind == "neg":
        low, high = operands[0]()
        return -high, -low
    if kind in ("add", "sub", "mul", "max", "min", "where", "concat"):
        return _of_pair(kind, op, operands)
    if kind == "reciprocal" and operands[0]()[0] >= 0:
        return _NOT_NEGATIVE
    if kind == "reduce":
        return _of_reduction(ir.StringAttr(op.attributes["kind"]).value, operands[0])
    return EVERYTHING


def _clamp(kind: str, op: Any) -> Interval:
    if kind == "relu":
        return _NOT_NEGATIVE
    if kind == "clip":
        low, high = EVERYTHING
        low = ir.FloatAttr(op.attributes["min"]).value if "min" in op.attributes else low
        return low, (ir.FloatAttr(op.attributes["max"]).value if "max" in op.attributes else high)
    return EVERYTHING


def _of_pair(kind: str, op: Any, operands: list[Any]) -> Interval:
    if kind == "mul" and op.operands[0] == op.operands[1]:
        return _NOT_NEGATIVE
    (a, b), (c, d) = (operand() for operand in operands[-2:])
    if kind in ("where", "concat"):
        return min(a, c), max(b, d)
    if kind in ("max", "min"):
        choose = max if kind == "max" else min
        return choose(a, c), choose(b, d)
    if kind == "sub":
        c, d = -d, -c
    if kind in ("add", "sub"):
        low, high = a + c, b + d
        return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
    products = [0.0 if 0 in (x, y) else x * y for x in (a, b) for y in (c, d)]
    return min(products), max(products)


def _of_reduction(kind: str, operand: Any) -> Interval:
    if kind in ("l1", "l2", "sum_square"):
        return _NOT_NEGATIVE
    low, high = operand()
    if kind in ("max", "min", "mean"):
        return low, high
    if kind in ("sum", "prod") and low >= 0:
        return _NOT_NEGATIVE
    return EVERYTHING


def is_not_negative(value: ir.Value) -> bool:
    """Whether no element can be below zero; NaN and -0 remain possible."""
    return interval(value)[0] >= 0


# From a zero of either sign these make results that compare equal and are not -0 because of it.
_FORGETS = frozenset([
    "exp", "cos", "abs", "sigmoid", "softmax", "log_softmax", "softplus", "equal", "greater", "less", "not", "sign",
    "greater_or_equal", "less_or_equal", "matmul", "gemm", "conv", "conv_transpose", "arg_reduce", "hard_sigmoid",
    "batch_norm", "layer_norm", "log", "is_nan",
])  # fmt: skip
_USERS = 64


def sign_of_zero_is_seen(value: ir.Value) -> bool:
    """Whether a zero's sign in `value` may decide between +inf and -inf later: it reaches a divisor.

    Elsewhere zeros of both signs compare equal. Gives up, with True, after looking at 64 users.
    """
    pending, seen = [value], 0
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            kind = user.name.removeprefix("graph.")
            seen += 1
            if seen > _USERS or kind in ("reciprocal", "pow", "mod") or (kind == "div" and use.operand_number == 1):
                return True
            if kind not in _FORGETS and not _is_square(user) and user.name.startswith("graph."):
                pending.extend(user.results)
    return False


def _is_square(user: Any) -> bool:
    """Whether an operation gives a number times itself, which is +0 for zeros of either sign."""
    return user.name == "graph.mul" and user.operands[0] == user.operands[1]
