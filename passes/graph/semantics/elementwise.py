"""Element-wise operations."""

import math
from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

Array = np.ndarray


def erf(x: Array) -> Array:
    """Gauss error function."""
    values = [math.erf(value) for value in np.ravel(x).tolist()]
    return np.array(values, dtype=x.dtype).reshape(x.shape)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e**-x); of the two forms the one whose exponential does not overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def softplus(x: Array) -> Array:
    """log(1 + e**x) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x: Array, approximate: str) -> Array:
    """x / 2 * (1 + erf(x / sqrt(2))), or its tanh form."""
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x / 2 * (1 + erf(x * math.sqrt(0.5)))


def maximum(a: Array, b: Array) -> Array:
    """The larger one, NaN if either is NaN; +0 counts as larger than -0, which numpy leaves open."""
    both_zero = (a == 0) & (b == 0)
    return np.where(both_zero, a + b, np.maximum(a, b)) if np.asarray(a).dtype.kind == "f" else np.maximum(a, b)


def minimum(a: Array, b: Array) -> Array:
    """The smaller one, with the same care."""
    return -maximum(-a, -b) if np.asarray(a).dtype.kind == "f" else np.minimum(a, b)


def clip(x: Array, min: float = -math.inf, max: float = math.inf) -> Array:
    """min(max(x, min), max); an absent bound does nothing, also for integers."""
    x = x if min == -math.inf else maximum(x, np.asarray(min).astype(x.dtype))
    return x if max == math.inf else minimum(x, np.asarray(max).astype(x.dtype))


def divide(a: Array, b: Array) -> Array:
    """Quotient; of integers truncated toward zero."""
    if a.dtype.kind == "f":
        return a / b
    quotient = a // b
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)


def power(a: Array, b: Array) -> Array:
    """a ** b as in IEEE 754; numpy takes a square root for one exponent 1/2, which differs at -inf and -0."""
    result = np.power(a, b)
    if np.asarray(a).dtype.kind != "f":
        return result
    result = np.where((b == 0.5) & (a == -math.inf), math.inf, result)
    return np.where((b == 0.5) & (a == 0), 0.0, result)


def round_to(x: Array, format: str) -> Array:
    """The nearest number of a narrow format, in the type of x."""
    return x.astype(getattr(ml_dtypes, format)).astype(x.dtype)


UNARY: Mapping[str, Callable[..., Array]] = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "reciprocal": lambda x: 1 / x, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "erf": erf, "sin": np.sin,
    "cos": np.cos, "not": np.logical_not, "is_nan": np.isnan, "round_to": round_to,
    "sigmoid": sigmoid,
    "relu": lambda x: maximum(x, np.zeros((), x.dtype)),
    "tanh": np.tanh, "softplus": softplus, "mish": lambda x: x * np.tanh(softplus(x)), "gelu": gelu, "clip": clip,
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "leaky_relu": lambda x, alpha: np.where(x >= 0, x, alpha * x),
    "elu": lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(x)),
    "selu": lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.expm1(x)),
}  # fmt: skip

BINARY: Mapping[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide, "max": maximum, "min": minimum,
    "pow": power, "mod": lambda a, b, fmod: np.fmod(a, b) if fmod else np.mod(a, b),
    "equal": np.equal, "greater": np.greater, "less": np.less, "greater_or_equal": np.greater_equal,
    "less_or_equal": np.less_equal, "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right": np.right_shift, "where": np.where,
}  # fmt: skip
