"""What callers hand to `import_model`, checked: from Python anything may come."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.given_shapes import read_shapes
from mnc.core.sequences import Shapes


def check_source(model: Any) -> None:
    """Raise CompileError for what is neither a path nor a model."""
    if not isinstance(model, str | os.PathLike | onnx.ModelProto):
        hint = "give the path of an ONNX file, or an onnx.ModelProto"
        raise CompileError(f"the model is a value of type {type(model).__name__}", hint=hint)


def check_import(context: Any, constants: Any, updates: Any) -> None:
    """Raise CompileError for arguments of another kind than `import_model` takes."""
    if not isinstance(context, ir.Context | None):
        hint = "leave it out, or give one of mnc.core.context.make_context"
        raise CompileError(f"the context is a value of type {type(context).__name__}", hint=hint)
    for what, given, example in (
        ("constants", constants, '{"x": numpy.zeros((1, 64), numpy.float32)}'),
        ("updates", updates, '{"state": "state_new"}'),
    ):
        if not isinstance(given, Mapping | None):
            hint = f"give a mapping such as {example}"
            raise CompileError(f"the {what} are a value of type {type(given).__name__}", hint=hint)


def given_shapes(shapes: Any) -> Shapes:
    """Shapes as tuples; None means that there are none. Raises CompileError."""
    return {} if shapes is None else read_shapes(shapes)


def constant_tensor(value: onnx.ValueInfoProto, given: Any, file_name: str) -> onnx.TensorProto:
    """The initializer that takes the place of an input.

    Raises:
        CompileError: its element type or its shape is not the one that the model declares.
    """
    tensor, message = None, f"the value given for input '{value.name}' is no array"
    try:
        array = np.asarray(given)
        native = array.astype(array.dtype.newbyteorder("="), copy=False)  # onnx knows no other order of bytes
        tensor = onnx.numpy_helper.from_array(native, value.name)
    except (ValueError, TypeError, RuntimeError, NotImplementedError, KeyError) as error:  # what numpy and onnx raise
        message = f"{message}: {error}"
    own = value.type.tensor_type
    declared = onnx.helper.tensor_dtype_to_np_dtype(own.elem_type) if own.elem_type else None
    hint = None if declared is None else f"give an array of {declared}"
    if tensor is None:
        raise CompileError(message, location=file_name, hint=hint)
    if tensor.data_type != own.elem_type:
        types = [onnx.TensorProto.DataType.Name(kind) for kind in (tensor.data_type, own.elem_type)]
        message = f"the value given for input '{value.name}' is {types[0]}, but the model wants {types[1]}"
        raise CompileError(message, location=file_name, hint=hint)
    dims = own.shape.dim
    if own.HasField("shape") and not _fits(dims, tensor.dims):
        shown = ", ".join(str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims)
        found = list(tensor.dims)
        message = f"the value given for input '{value.name}' has shape {found}, but the model declares [{shown}]"
        raise CompileError(message, location=file_name, hint="give an array of that shape")
    return tensor


def _fits(dims: Sequence[Any], found: Sequence[int]) -> bool:
    """Whether a shape is one that is declared; negative extents are open, too."""
    wanted = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in dims]
    return len(wanted) == len(found) and all(a in (-1, b) for a, b in zip(wanted, found, strict=True))


__all__ = ["check_import", "check_source", "constant_tensor", "given_shapes"]
