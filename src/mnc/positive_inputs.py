"""Inputs that a model takes roots or logarithms of, or divides integers by: it is defined where the former are not
negative, and the latter positive; and where what is taken off the former is small beside them."""

from collections.abc import Iterable, Mapping

import numpy as np
import onnx

_BASES = frozenset(["Log", "Pow", "Sqrt"])  # their first operand must not be negative
_OF_SOME = frozenset(["Acos", "Acosh", "Asin", "Atanh"])  # defined for some of all numbers
_DIVISIONS = frozenset(["Div", "Mod"])
_TENSORS_EACH = {"Adagrad": 3, "Adam": 4}  # the last of them are sums of squares
_FROM_ALL = frozenset(["Add", "Concat", "Conv", "Div", "Gemm", "MatMul", "Max", "Mean", "Min", "Sum"])
_FROM_FIRST = frozenset([
    "AveragePool", "Cast", "CumSum", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "GlobalAveragePool",
    "Identity", "MaxPool", "Pad", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Slice",
    "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
])  # fmt: skip


def has_bases(model: onnx.ModelProto) -> bool:
    """Whether an operator of the model is undefined for some numbers."""
    return any(node.op_type in _BASES | _OF_SOME or node.op_type in _TENSORS_EACH for node in model.graph.node)


def bases(model: onnx.ModelProto) -> frozenset[str]:
    """Names of values that suffice: where they are not negative, neither is what roots and logarithms are taken of, as
    far as sums, products and moved elements go. What follows from a difference is left out."""
    factors = _factors(model)
    whole = _whole_numbers(model)
    found = set[str]()
    for node in reversed(model.graph.node):
        if node.op_type in _BASES:
            found.update(name for name in node.input[:1] if node.op_type != "Pow" or node.input[1] not in whole)
        elif node.op_type in _TENSORS_EACH:
            each = _TENSORS_EACH[node.op_type]
            found.update(node.input[2 + (len(node.input) - 2) * (each - 1) // each :])
        elif not found.isdisjoint(node.output):
            found.update(_needed(node, factors))
    return frozenset(found)


def differences(model: onnx.ModelProto) -> tuple[frozenset[str], frozenset[str]]:
    """Names of values that suffice: where the first are large and the second small, differences that roots and
    logarithms are taken of are positive, such as a mean of squares and the square of a mean."""
    parts = set[str](), set[str]()
    under = set[str]()
    for node in reversed(model.graph.node):
        if node.op_type in _BASES:
            under.update(node.input[:1])
        is_sum = node.op_type in _FROM_ALL or node.op_type == "Mul"
        for found in (under, *parts):
            if not found.isdisjoint(node.output):
                found.update(node.input if is_sum else node.input[:1] if node.op_type in _FROM_FIRST else ())
        if node.op_type == "Sub" and not under.isdisjoint(node.output):
            for part, name in zip(parts, node.input, strict=True):
                part.add(name)
    return frozenset(parts[0] - parts[1]), frozenset(parts[1])


def divisors(model: onnx.ModelProto) -> frozenset[str]:
    """Names of values that suffice: where they are positive, so is what integers are divided by, as far as sums,
    products and moved elements go."""
    found = set[str]()
    for node in reversed(model.graph.node):
        if node.op_type in _DIVISIONS:
            found.update(node.input[1:])
        elif not found.isdisjoint(node.output):
            found.update(node.input if node.op_type == "Mul" or node.op_type in _FROM_ALL else ())
            found.update(node.input[:1] if node.op_type in _FROM_FIRST - {"Pad"} else ())
    return frozenset(found)


def _needed(node: onnx.NodeProto, factors: Mapping[str, frozenset[str]]) -> Iterable[str]:
    """Operands that make the results of a node not negative."""
    if node.op_type == "Mul":
        return factors[node.output[0]]
    if node.op_type in _FROM_ALL:
        return node.input
    if node.op_type in _FROM_FIRST:
        return node.input[:1]
    return node.input[1:] if node.op_type == "Where" else ()


def _factors(model: onnx.ModelProto) -> dict[str, frozenset[str]]:
    """Of every product, also of several: those that it has an odd number of times. Signs are left out."""
    found = dict[str, frozenset[str]]()
    for node in model.graph.node:
        if node.op_type in ("Mul", "Neg"):
            operands = [found.get(name, frozenset([name])) for name in node.input]
            found[node.output[0]] = operands[0] if len(operands) == 1 else operands[0] ^ operands[1]
    return found


def _whole_numbers(model: onnx.ModelProto) -> frozenset[str]:
    """Constants without fractions: powers of negative numbers with such exponents are defined."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    numbers = set[str]()
    for node in model.graph.node:
        if node.op_type == "Constant":
            value, name = onnx.helper.get_attribute_value(node.attribute[0]), node.output[0]
            if isinstance(value, onnx.TensorProto):
                tensors[name] = value
            elif isinstance(value, int | float) and float(value).is_integer():
                numbers.add(name)
    small = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in tensors.items() if np.prod(tensor.dims) == 1}
    return frozenset(numbers) | {name for name, array in small.items() if _is_whole(array)}


def _is_whole(array: np.ndarray) -> bool:
    return array.dtype.kind in "iuf" and bool(np.all(array == np.round(array)))
