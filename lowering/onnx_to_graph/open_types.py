"""Inputs and outputs that a model declares without a shape, or without any type: the checker of ONNX refuses them, and
shape inference, or who compiles, says what they are."""

from collections.abc import Iterator
from contextlib import contextmanager

import onnx


def _is_without_shape(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return value.type.HasField("tensor_type") and bool(tensor.elem_type) and not tensor.HasField("shape")


@contextmanager
def open_types_set_aside(graph: onnx.GraphProto) -> Iterator[None]:
    """Inside, inputs and outputs without a shape are scalars, and outputs without a type are floats, so that all else
    can be checked."""
    open_shapes = [value for value in (*graph.input, *graph.output) if _is_without_shape(value)]
    untyped = [value for value in graph.output if value.type.WhichOneof("value") is None]
    for value in untyped:
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for value in (*open_shapes, *untyped):
        value.type.tensor_type.shape.SetInParent()
    try:
        yield
    finally:
        for value in open_shapes:
            value.type.tensor_type.ClearField("shape")
        for value in untyped:
            value.ClearField("type")
