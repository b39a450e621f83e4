"""Scalar bodies of the graph operations of one operand, by operation name.

Every body takes the scalar, its graph element type and the attributes of the operation.
"""

import math as pymath
from collections.abc import Callable, Mapping

from mnc.core.bindings import ir, math
from mnc.dialects.graph.attributes import real
from mnc.lowering.float_formats import FORMATS, rounded
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.emit import is_float, scalar

Scalar = ir.Value
Attributes = Mapping[str, ir.Attribute]
UnaryBody = Callable[[Scalar, ir.Type, Attributes], Scalar]


def exp(a: Scalar) -> Scalar:
    """e ** a."""
    return math.ExpOp(a).result


def tanh(a: Scalar) -> Scalar:
    """Hyperbolic tangent."""
    return math.TanhOp(a).result


def sigmoid(a: Scalar, element: ir.Type) -> Scalar:
    """1 / (1 + exp(-a)): exp overflows to infinity for very negative a, and 1 / inf is the right 0."""
    one = scalar(1, element)
    return s.divide(one, s.add(one, exp(s.negate(a, element)), element), element)


def softplus(a: Scalar, element: ir.Type) -> Scalar:
    """log(1 + exp(a)) as max(a, 0) + log(1 + exp(-|a|)), which does not overflow."""
    small = exp(s.negate(s.absolute(a, element), element))
    logarithm = math.Log1pOp(small).result
    return s.add(s.maximum(a, scalar(0, element), element), logarithm, element)


def _scaled_exp(a: Scalar, element: ir.Type, alpha: float) -> Scalar:
    return s.multiply(scalar(alpha, element), s.subtract(exp(a), scalar(1, element), element), element)


def leaky_relu(a: Scalar, element: ir.Type, attributes: Attributes) -> Scalar:
    """a if a >= 0 else alpha * a."""
    scaled = s.multiply(scalar(real(attributes, "alpha"), element), a, element)
    return s.select(s.compare("ge", a, scalar(0, element), element), a, scaled)


def elu(a: Scalar, element: ir.Type, attributes: Attributes) -> Scalar:
    """a if a >= 0 else alpha * (exp(a) - 1)."""
    negative = _scaled_exp(a, element, real(attributes, "alpha"))
    return s.select(s.compare("ge", a, scalar(0, element), element), a, negative)


def selu(a: Scalar, element: ir.Type, attributes: Attributes) -> Scalar:
    """gamma * (a if a > 0 else alpha * (exp(a) - 1))."""
    negative = _scaled_exp(a, element, real(attributes, "alpha"))
    chosen = s.select(s.compare("gt", a, scalar(0, element), element), a, negative)
    return s.multiply(scalar(real(attributes, "gamma"), element), chosen, element)


def _clamped_line(a: Scalar, element: ir.Type, slope: float, offset: float) -> Scalar:
    line = s.add(s.multiply(scalar(slope, element), a, element), scalar(offset, element), element)
    return s.maximum(scalar(0, element), s.minimum(scalar(1, element), line, element), element)


def gelu(a: Scalar, element: ir.Type, attributes: Attributes) -> Scalar:
    """a / 2 * (1 + erf(a / sqrt(2))), or with tanh(sqrt(2 / pi) * (a + 0.044715 * a^3)) for erf."""
    if ir.StringAttr(attributes["approximate"]).value == "tanh":
        cube = s.multiply(s.multiply(a, a, element), a, element)
        inner = s.add(a, s.multiply(scalar(0.044715, element), cube, element), element)
        # (1 + tanh(y)) / 2 is the sigmoid of 2y, which does not cancel where y is very negative.
        scaled = s.multiply(scalar(pymath.sqrt(8 / pymath.pi), element), inner, element)
        return s.multiply(a, sigmoid(scaled, element), element)
    bent = math.ErfOp(s.multiply(a, scalar(pymath.sqrt(0.5), element), element)).result
    half = s.multiply(scalar(0.5, element), a, element)
    return s.multiply(half, s.add(scalar(1, element), bent, element), element)


def clip(a: Scalar, element: ir.Type, attributes: Attributes) -> Scalar:
    """min(max(a, min), max); an absent bound does nothing."""
    if "min" in attributes:
        a = s.maximum(a, scalar(real(attributes, "min"), element), element)
    if "max" in attributes:
        a = s.minimum(a, scalar(real(attributes, "max"), element), element)
    return a


def _math(op_class: str) -> UnaryBody:
    return lambda a, element, attributes: getattr(math, op_class)(a).result


def _rounding(op_class: str) -> UnaryBody:
    return lambda a, element, attributes: getattr(math, op_class)(a).result if is_float(element) else a


UNARY: dict[str, UnaryBody] = {
    "graph.neg": lambda a, t, _: s.negate(a, t),
    "graph.abs": lambda a, t, _: s.absolute(a, t),
    "graph.sign": lambda a, t, _: s.sign(a, t),
    "graph.exp": _math("ExpOp"),
    "graph.log": _math("LogOp"),
    "graph.sqrt": _math("SqrtOp"),
    "graph.reciprocal": lambda a, t, _: s.reciprocal(a, t),
    "graph.floor": _rounding("FloorOp"),
    "graph.ceil": _rounding("CeilOp"),
    "graph.round": _rounding("RoundEvenOp"),
    "graph.round_to": lambda a, _, at: rounded(a, FORMATS[ir.StringAttr(at["format"]).value]),
    "graph.erf": _math("ErfOp"),
    "graph.sin": _math("SinOp"),
    "graph.cos": _math("CosOp"),
    "graph.tanh": _math("TanhOp"),
    "graph.is_nan": lambda a, t, _: s.compare("ne", a, a, t),
    "graph.not": lambda a, t, _: s.logical_not(a),
    "graph.relu": lambda a, t, _: s.maximum(a, scalar(0, t), t),
    "graph.sigmoid": lambda a, t, _: sigmoid(a, t),
    "graph.softplus": lambda a, t, _: softplus(a, t),
    "graph.mish": lambda a, t, _: s.multiply(a, tanh(softplus(a, t)), t),
    "graph.hard_swish": lambda a, t, _: s.multiply(a, _clamped_line(a, t, 1 / 6, 0.5), t),
    "graph.hard_sigmoid": lambda a, t, at: _clamped_line(a, t, real(at, "alpha"), real(at, "beta")),
    "graph.leaky_relu": leaky_relu,
    "graph.elu": elu,
    "graph.selu": selu,
    "graph.gelu": gelu,
    "graph.clip": clip,
}
"""Operation name -> scalar body."""
