"""Kernels of the support vector machines of ai.onnx.ml: how much rows are like support vectors."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def numbers(node: Node, name: str) -> np.ndarray:
    """An attribute that is a list of floats, empty if it is absent."""
    return np.array(node.attribute(name, []), np.float32)


def kernel(node: Node, x: Any, vectors: np.ndarray) -> Any:
    """Kernel [N, S] of rows x [N, C] with support vectors [S, C].

    Distances are sums of squared differences: the difference of products that they also are cancels.
    """
    name = node.attribute("kernel_type", "LINEAR")
    if name not in _KERNELS:
        raise node.error(f"kernel_type is '{name}'", hint=f"it may be {', '.join(_KERNELS)}")
    gamma, offset, degree = (*node.attribute("kernel_params", []), 0.0, 0.0, 0.0)[:3]
    if name == "RBF":
        rows, features = shape_of(x)
        apart = graph.Sub.build(reshape(x, [rows, 1, features]), constant(vectors, like=x)).result
        distance = graph.Reduce.build(apart, kind="sum_square", axes=[2], keepdims=False).result
        return graph.Exp.build(_scaled(distance, -gamma)).result
    products = graph.MatMul.build(x, constant(vectors.T, like=x)).result
    if name == "LINEAR":
        return products
    shifted = graph.Add.build(_scaled(products, gamma), constant(offset, like=x)).result
    return graph.Tanh.build(shifted).result if name == "SIGMOID" else _power(node, shifted, int(degree))


def _scaled(value: Any, factor: float) -> Any:
    return graph.Mul.build(value, constant(factor, like=value)).result


def _power(node: Node, base: Any, degree: int) -> Any:
    """A whole power by products, which negative bases have as well."""
    if degree < 0:
        raise node.error(f"the degree of its kernel is {degree}", hint="it is 0 or more")
    result = constant(np.ones(shape_of(base)), like=base)
    for digit in bin(degree)[2:] if degree else "":
        result = graph.Mul.build(result, result).result
        result = graph.Mul.build(result, base).result if digit == "1" else result
    return result
