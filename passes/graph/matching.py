"""Questions that graph patterns ask about values, and short ways to build operations."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import attributes_of
from mnc.dialects import graph


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """Static shape of a tensor value."""
    return tuple(ir.RankedTensorType(value.type).shape)


def element_of(value: ir.Value) -> ir.Type:
    """Element type of a tensor value."""
    return ir.RankedTensorType(value.type).element_type


def is_float(value: ir.Value) -> bool:
    """Whether the elements are floats."""
    return isinstance(element_of(value), ir.FloatType)


def size_of(value: ir.Value) -> int:
    """Number of elements."""
    return math.prod(shape_of(value))


def producer(value: ir.Value, *names: str) -> Any:
    """The operation that makes `value` if it is one of `names` (without ``graph.``), else None."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    operation = owner.operation
    return operation.opview if operation.name.removeprefix("graph.") in names else None


def is_constant(value: ir.Value) -> bool:
    """Whether `value` is a `graph.constant`."""
    return producer(value, "constant") is not None


def constant_of(value: ir.Value) -> np.ndarray | None:
    """Array of a constant value; None for others and for constants that cannot be read back."""
    op = producer(value, "constant")
    if op is None or not isinstance(op.operation.attributes["value"], ir.DenseElementsAttr):
        return None
    try:
        return graph.to_numpy(op.operation.attributes["value"])
    except ValueError:
        return None


def splat_of(value: ir.Value) -> float | int | bool | None:
    """The one value of all elements of a constant, as a Python number; None if there is none."""
    op = producer(value, "constant")
    if op is None or not size_of(value):
        return None
    attribute = op.operation.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr) or not (attribute.is_splat or size_of(value) == 1):
        return None
    array = constant_of(value)
    return None if array is None else np.ravel(array)[0].item()


def has_one_use(value: ir.Value) -> bool:
    """Whether exactly one operand reads `value`."""
    return len(list(value.uses)) == 1


def constant(array: Any, like: ir.Value | None = None) -> ir.Value:
    """A `graph.constant` of an array; with `like`, of the element type of that value."""
    array = np.asarray(array)
    if like is not None:
        array = array.astype(graph.numpy_dtype(element_of(like)))
    return graph.Constant.build(value=graph.dense(array)).operation.results[0]


def typed(shape: Any, like: ir.Value) -> Any:
    """Tensor type of this shape and the element type of `like`."""
    return graph.tensor(list(shape), element_of(like))


def reshaped(value: ir.Value, shape: Any) -> ir.Value:
    """`value` under another shape; itself if it has that shape already."""
    if shape_of(value) == tuple(shape):
        return value
    return graph.Reshape.build(value, result_type=typed(shape, value)).operation.results[0]


def broadcast_to(value: ir.Value, shape: Any) -> ir.Value:
    """`value` broadcast to a shape; itself if it has that shape already."""
    if shape_of(value) == tuple(shape):
        return value
    return graph.BroadcastTo.build(value, result_type=typed(shape, value)).operation.results[0]


def rebuilt(op: Any, *operands: ir.Value, result_type: Any = None) -> ir.Value:
    """The same operation with other operands; the result type follows from them unless given."""
    kind = graph.OPERATIONS[op.operation.name]
    return kind.build(*operands, result_type=result_type, **attributes_of(op)).operation.results[0]


def name_after_weight(op: Any, made: ir.Value) -> None:
    """Name a constant that was computed from one weight after that weight: ``w`` transposed is ``w.transpose``.

    It is not the weight itself any more, so it must not carry its name.
    """
    names = set()
    for operand in op.operation.operands:
        owner = operand.owner
        if not isinstance(owner, ir.Block) and "onnx.name" in owner.operation.attributes:
            names.add(ir.StringAttr(owner.operation.attributes["onnx.name"]).value)
    if len(names) == 1:
        text = f"{names.pop()}.{op.operation.name.removeprefix('graph.')}"
        made.owner.operation.attributes["onnx.name"] = ir.StringAttr.get(text)
