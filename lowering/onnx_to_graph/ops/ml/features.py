"""Operators of ai.onnx.ml that prepare features (https://onnx.ai/onnx/operators/, "ai.onnx.ml").

Features are the last dimension. An operator whose result is float by the specification computes in float32.
"""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.shape import concat_tree

_SMALLEST_NORM = 1e-30
"""Divisor of a row of zeros, as in the reference of ONNX."""


def single(value: Any) -> Any:
    """The value as float32."""
    return cast(value, ir.F32Type.get())


def matrix(node: Node, index: int = 0) -> Any:
    """Operand of shape [N, C] as float32; one of shape [C] is a single row."""
    x = single(node.operand(index))
    shape = shape_of(x)
    if len(shape) not in (1, 2):
        raise node.error(f"its input has shape {shape}", hint="it is a matrix: a row per example, a column per feature")
    return reshape(x, [1, *shape]) if len(shape) == 1 else x


def _per_feature(node: Node, name: str, extent: int, default: float | None) -> np.ndarray:
    """Attribute with one number for all features or one for each, as float64; without a default it must be there."""
    values = node.attribute(name)
    if values is None and default is not None:
        return np.array([default])
    array = np.array(values if values is not None else [])
    if len(array) not in (1, extent):
        message = f"attribute '{name}' has {len(array)} numbers, for {extent} features"
        raise node.error(message, hint="give one for all, or one for each")
    return array


def array_feature_extractor(node: Node) -> Any:
    """ArrayFeatureExtractor: the features that the second operand numbers; of a vector, as a matrix of one row."""
    x, indices = node.operand(0), node.operand(1)
    count = math.prod(shape_of(indices))
    leading = shape_of(x)[:-1]
    taken = graph.Gather.build(x, reshape(indices, [count]), axis=len(leading)).result
    return reshape(taken, [*(leading or [1]), count])


def binarizer(node: Node) -> Any:
    """Binarizer: 1 above the threshold, else 0, in the type of the input."""
    x = node.operand(0)
    threshold = float(node.attribute("threshold", 0.0))
    if not isinstance(element_type_of(x), ir.FloatType):
        threshold = math.floor(threshold)  # an integer is above a number if it is above the integer below
    return cast(graph.Greater.build(x, constant(threshold, like=x)).result, element_type_of(x))


def feature_vectorizer(node: Node) -> Any:
    """FeatureVectorizer: its inputs side by side as float32, each cut or filled with zeros to its own width."""
    widths = node.attribute("inputdimensions", [])
    operands = node.operands()
    if len(widths) != len(operands):
        raise node.error(f"has {len(operands)} inputs and {len(widths)} inputdimensions", hint="give one for each")
    parts = []
    for x, width in zip(operands, widths, strict=True):
        shape = shape_of(x)
        x = single(reshape(x, [shape[0], 1]) if len(shape) == 1 else x)
        rows, own = shape_of(x)
        if own < width:
            x = graph.Pad.build(x, low=[0, 0], high=[0, width - own], value=graph.double(0.0), mode="constant").result
        elif own > width:
            x = graph.Slice.build(x, starts=[0, 0], limits=[rows, width], steps=[1, 1]).result
        parts.append(x)
    return concat_tree(parts, 1)


def imputer(node: Node) -> Any:
    """Imputer: another number, one per feature, where the input is NaN or the given value."""
    x = node.operand(0)
    kind = "float" if isinstance(element_type_of(x), ir.FloatType) else "int64"
    name = f"imputed_value_{kind}s"
    values = constant(_per_feature(node, name, shape_of(x)[-1], None), like=x)
    missing = node.attribute(f"replaced_value_{kind}", 0)
    is_missing = graph.IsNan.build(x) if math.isnan(missing) else graph.Equal.build(x, constant(missing, like=x))
    return graph.Where.build(is_missing.result, values, x).result


def normalizer(node: Node) -> Any:
    """Normalizer: rows divided by their largest absolute value, the sum of those, or the root of the sum of squares."""
    x = single(node.operand(0))
    norm = node.attribute("norm", "MAX")
    if norm not in ("MAX", "L1", "L2"):
        raise node.error(f"attribute norm is '{norm}'", hint="it may be MAX, L1 or L2")
    size = graph.Abs.build(x).result if norm == "MAX" else x
    last = len(shape_of(x)) - 1
    length = graph.Reduce.build(size, kind=norm.lower(), axes=[last], keepdims=True).result
    divisor = graph.Max.build(length, constant(_SMALLEST_NORM, like=x)).result
    return graph.Div.build(x, divisor).result


def scaler(node: Node) -> Any:
    """Scaler: ``(x - offset) * scale``."""
    x = single(node.operand(0))
    extent = shape_of(x)[-1]
    offset = constant(_per_feature(node, "offset", extent, 0.0), like=x)
    scale = constant(_per_feature(node, "scale", extent, 1.0), like=x)
    return graph.Mul.build(graph.Sub.build(x, offset).result, scale).result
