"""Binding the dynamic extents of a model's inputs."""

from collections.abc import Container, Iterable

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.core.diagnostics import CompileError


def _shape_hint(value: onnx.ValueInfoProto) -> str:
    extents = [d.dim_value if d.HasField("dim_value") else 1 for d in value.type.tensor_type.shape.dim]
    return f"give it with --shape {value.name}={','.join(map(str, extents))}"


def _bind_input(value: onnx.ValueInfoProto, shape: tuple[int, ...], bound: dict[str, int], file_name: str) -> None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        tensor.shape.SetInParent()
        for _ in shape:
            tensor.shape.dim.add()
    if len(tensor.shape.dim) != len(shape):
        message = f"input '{value.name}' has {len(tensor.shape.dim)} dimensions, the given shape has {len(shape)}"
        raise CompileError(message, location=file_name, hint=_shape_hint(value))
    for dim, extent in zip(tensor.shape.dim, shape, strict=True):
        fixed = dim.dim_value if dim.HasField("dim_value") else bound.get(dim.dim_param, extent)
        if fixed != extent or extent < 0:
            wanted = f"{dim.dim_param} = {fixed}" if dim.dim_param else str(fixed)
            message = f"input '{value.name}': {extent} was given for a dimension of extent {wanted}"
            raise CompileError(message, location=file_name, hint=_shape_hint(value))
        if dim.dim_param:
            bound[dim.dim_param] = extent
        dim.dim_value = extent


def _substitute(value: onnx.ValueInfoProto, bound: dict[str, int]) -> None:
    for dim in value.type.tensor_type.shape.dim:
        if dim.HasField("dim_param") and dim.dim_param in bound:
            dim.dim_value = bound[dim.dim_param]


def fix_inputs(
    graph: onnx.GraphProto, constants: dict[str, np.ndarray], weights: Container[str], file_name: str
) -> None:
    """Turn inputs of `graph` into initializers with these values, in place; `weights` are initializers kept elsewhere.

    Raises:
        CompileError: a name is no input, or its element type differs.
    """
    inputs = {value.name: value for value in graph.input if value.name not in weights}
    for name, array in constants.items():
        if name not in inputs:
            hint = f"the inputs are: {', '.join(inputs) or 'none'}"
            raise CompileError(f"a value was given for '{name}', which is no input", location=file_name, hint=hint)
        tensor = onnx.numpy_helper.from_array(np.asarray(array), name)
        wanted = inputs[name].type.tensor_type.elem_type
        if tensor.data_type != wanted:
            types = [onnx.TensorProto.DataType.Name(kind) for kind in (tensor.data_type, wanted)]
            message = f"the value given for input '{name}' is {types[0]}, but the model wants {types[1]}"
            raise CompileError(message, location=file_name)
        graph.input.remove(inputs[name])
        graph.initializer.append(tensor)


def bind_shapes(
    graph: onnx.GraphProto, shapes: dict[str, tuple[int, ...]], weights: Iterable[str], file_name: str
) -> None:
    """Give every input of `graph` a static shape, in place; `weights` are initializers kept elsewhere.

    A named extent that one input binds is bound everywhere.

    Raises:
        CompileError: a shape does not fit, names no input, or an extent stays dynamic.
    """
    initializers = {*weights, *(tensor.name for tensor in graph.initializer)}
    inputs = {value.name: value for value in graph.input if value.name not in initializers}
    for name in shapes:
        if name not in inputs:
            hint = f"the inputs are: {', '.join(inputs) or 'none'}"
            raise CompileError(f"a shape was given for '{name}', which is no input", location=file_name, hint=hint)
    bound: dict[str, int] = {}
    for name, shape in shapes.items():
        _bind_input(inputs[name], tuple(shape), bound, file_name)
    for value in (*graph.input, *graph.output, *graph.value_info):
        _substitute(value, bound)
    for name, value in inputs.items():
        if not value.type.HasField("tensor_type"):
            raise CompileError(f"input '{name}' is not a tensor", location=file_name, hint="pass tensors one by one")
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            hint = f"give its shape with --shape {name}=1,64"
            raise CompileError(f"input '{name}' has no shape", location=file_name, hint=hint)
        dynamic = [d.dim_param or "?" for d in tensor.shape.dim if not d.HasField("dim_value")]
        if dynamic:
            message = f"input '{name}' has dynamic extents: {', '.join(dynamic)}"
            raise CompileError(message, location=file_name, hint=_shape_hint(value))
