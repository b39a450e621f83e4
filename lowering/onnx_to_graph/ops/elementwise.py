"""Element-wise operators."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of


def unary(operation: type[graph.GraphOp]) -> Callable[[Node], Any]:
    """Handler of an operator with one input and no attributes."""
    return lambda node: operation.build(node.operand(0)).result


def binary(operation: type[graph.GraphOp]) -> Callable[[Node], Any]:
    """Handler of an operator with two broadcast inputs and no attributes."""
    return lambda node: operation.build(node.operand(0), node.operand(1)).result


def variadic(operation: type[graph.GraphOp]) -> Callable[[Node], Any]:
    """Max, Min, Sum: a chain of two-operand operations."""
    return lambda node: functools.reduce(lambda a, b: operation.build(a, b).result, node.operands())


def mean(node: Node) -> Any:
    """Mean of several broadcast tensors."""
    operands = node.operands()
    if not isinstance(element_type_of(operands[0]), ir.FloatType):
        raise node.error("ONNX has no mean of integers", "convert them with Cast first")
    total = functools.reduce(lambda a, b: graph.Add.build(a, b).result, operands)
    return graph.Mul.build(total, constant(1.0 / len(operands), like=total)).result


def with_floats(operation: type[graph.GraphOp], **defaults: float) -> Callable[[Node], Any]:
    """Handler of an activation whose attributes are floats with these defaults."""

    def handler(node: Node) -> Any:
        values = {name: float(node.attribute(name, default)) for name, default in defaults.items()}
        return operation.build(node.operand(0), **values).result

    return handler


def gelu(node: Node) -> Any:
    """Gelu, exact or in its tanh form."""
    return graph.Gelu.build(node.operand(0), approximate=node.attribute("approximate", "none")).result


def prelu(node: Node) -> Any:
    """``x if x >= 0 else slope * x``; the slope broadcasts, or is one per channel as before version 7."""
    x, slope = node.operand(0), node.operand(1)
    shape, own = shape_of(x), shape_of(slope)
    if len(own) == 1 and len(shape) > 2 and own[0] not in (1, shape[-1]) and own[0] == shape[1]:
        slope = reshape(slope, [*own, *[1] * (len(shape) - 2)])
    is_negative = graph.Less.build(x, constant(0, like=x)).result
    return graph.Where.build(is_negative, graph.Mul.build(slope, x).result, x).result


def celu(node: Node) -> Any:
    """Celu: ``alpha elu(x / alpha)``. ONNX's own body makes a vector of a scalar."""
    x, alpha = node.operand(0), float(node.attribute("alpha", 1.0))
    if alpha == 0:
        raise node.error("attribute 'alpha' is 0, by which it divides", hint="take another one, or Relu")
    scaled = x if alpha == 1 else graph.Div.build(x, constant(alpha, like=x)).result
    value = graph.Elu.build(scaled, alpha=1.0).result
    return value if alpha == 1 else graph.Mul.build(value, constant(alpha, like=x)).result


def shrink(node: Node) -> Any:
    """Shrink: values between -lambd and lambd become 0, the others move towards 0 by the bias."""
    x = node.operand(0)
    limit, bias = (float(node.attribute(name, default)) for name, default in (("lambd", 0.5), ("bias", 0.0)))
    above = graph.Where.build(
        graph.Greater.build(x, constant(limit, like=x)), graph.Sub.build(x, constant(bias, like=x)), constant(0, like=x)
    ).result
    below = graph.Less.build(x, constant(-limit, like=x)).result
    return graph.Where.build(below, graph.Add.build(x, constant(bias, like=x)), above).result


def thresholded_relu(node: Node) -> Any:
    """ThresholdedRelu: values up to alpha become 0. ONNX's own body needs operators of version 18."""
    x = node.operand(0)
    is_above = graph.Greater.build(x, constant(float(node.attribute("alpha", 1.0)), like=x)).result
    return graph.Where.build(is_above, x, constant(0, like=x)).result


def power(node: Node) -> Any:
    """Pow; the exponent is converted to the type of the base, as the result has it."""
    base, exponent = node.operand(0), node.operand(1)
    if str(element_type_of(exponent)).startswith("f") and not str(element_type_of(base)).startswith(("f", "b")):
        wide = element_type_of(exponent)
        return cast(graph.Pow.build(cast(base, wide), exponent).result, element_type_of(base))
    return graph.Pow.build(base, cast(exponent, element_type_of(base))).result


def modulo(node: Node) -> Any:
    """Mod, with the sign of the divisor or as C's fmod."""
    return graph.Mod.build(node.operand(0), node.operand(1), fmod=bool(node.attribute("fmod", 0))).result


def _clip_bound(node: Node, index: int, name: str) -> float | None:
    """Bound as a number exactly representable in f32, or None if absent or not so."""
    if node.version < 11:
        return node.attribute(name)
    known = node.known(index)
    if known is None or known.size != 1:
        return None
    value = known.reshape(()).item()
    return float(value) if float(np.float32(value)) == value or value != value else None


def clip(node: Node) -> Any:
    """Clip: attributes where the bounds are constants, otherwise max and min."""
    x = node.operand(0)
    low, high = _clip_bound(node, 1, "min"), _clip_bound(node, 2, "max")
    if node.version >= 11 and node.has(1) and low is None:
        x = graph.Max.build(x, node.operand(1)).result
    # A bound that is not an attribute is applied in order: first the lower, then the upper one.
    if node.version >= 11 and node.has(2) and high is None:
        x = graph.Clip.build(x, min=low).result if low is not None else x
        return graph.Min.build(x, node.operand(2)).result
    return x if low is None and high is None else graph.Clip.build(x, min=low, max=high).result


def where(node: Node) -> Any:
    """Where."""
    return graph.Where.build(*node.operands()).result


def identity(node: Node) -> Any:
    """Identity disappears."""
    return node.operand(0)


def dropout(node: Node) -> Any:
    """Dropout. At inference it disappears and its mask is all true.

    In training mode a node with a seed gets the mask that the ONNX reference draws from this seed, a constant of the
    program, equal in every run; without a seed every run would need new random numbers, which the machine cannot draw.
    """
    x = node.operand(0)
    training = node.known(2) if node.version >= 12 else None
    ratio = node.known(1) if node.has(1) else np.array(node.attribute("ratio", 0.5))
    is_training = node.version >= 12 and node.has(2) and (training is None or bool(training.reshape(())))
    if not is_training or (ratio is not None and ratio.reshape(()) == 0):
        ones = np.ones(shape_of(x), bool)
        return [x, constant(ones) if node.version >= 10 else constant(ones, like=x)] if node.wants(1) else [x]
    seed = node.attribute("seed")
    if seed is None or training is None or ratio is None:
        hint = "set training_mode to false, or give the node a seed and a ratio and training_mode that are constants"
        raise node.error("dropout in training mode draws random numbers, which is not supported", hint=hint)
    rate = float(ratio.reshape(()))
    mask = np.random.RandomState(seed).uniform(0, 1.0, shape_of(x)) >= rate
    scaled = graph.Mul.build(x, constant(1.0 / (1.0 - rate), like=x)).result
    return [graph.Where.build(constant(mask), scaled, constant(0, like=x)).result, constant(mask)]
