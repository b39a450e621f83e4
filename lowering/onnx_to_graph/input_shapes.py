"""Giving one input of a model a static shape."""

import onnx

from mnc.core.diagnostics import CompileError
from mnc.core.spelling import shape_argument, spelled

LARGEST_EXTENT = 2**31 - 1
"""Indices and addresses are 32-bit words."""


class OpenExtentsError(CompileError):
    """The shapes of inputs are not known; all else that can be said without them holds."""


def shape_hint(value: onnx.ValueInfoProto) -> str:
    """How to give the shape of a tensor."""
    dims = value.type.tensor_type.shape.dim
    if value.type.tensor_type.HasField("shape") and not dims:
        return f"'{value.name}' is a scalar: leave {spelled('--shape', 'its shape')} out"
    extents = [d.dim_value if d.HasField("dim_value") else 1 for d in dims]
    hint = f"give it with {shape_argument(value.name, *extents)}"
    named = dict.fromkeys(d.dim_param for d in dims if d.dim_param)
    return f"{hint}, or by its name with {shape_argument(next(iter(named)), 1)}" if named else hint


def bind_input(value: onnx.ValueInfoProto, shape: tuple[int, ...], bound: dict[str, int], file_name: str) -> None:
    """Give a tensor a shape, in place; `bound` are named extents, and gets those that the shape says.

    Raises:
        CompileError: the shape contradicts what the model declares or what is bound.
    """
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        tensor.shape.SetInParent()
        for _ in shape:
            tensor.shape.dim.add()
    if len(tensor.shape.dim) != len(shape):
        message = f"input '{value.name}' has {len(tensor.shape.dim)} dimensions, the given shape has {len(shape)}"
        raise CompileError(message, location=file_name, hint=shape_hint(value))
    for dim, extent in zip(tensor.shape.dim, shape, strict=True):
        fixed = dim.dim_value if dim.HasField("dim_value") else bound.get(dim.dim_param, extent)
        if fixed != extent or extent < 0:
            wanted = f"{dim.dim_param} = {fixed}" if dim.dim_param else str(fixed)
            message = f"input '{value.name}': {extent} was given for a dimension of extent {wanted}"
            raise CompileError(message, location=file_name, hint=shape_hint(value))
        check_extent(extent, value.name, file_name)
        if dim.dim_param:
            bound[dim.dim_param] = extent
        dim.dim_value = extent


def check_extent(extent: int, name: str, file_name: str) -> None:
    """Raise CompileError for an extent that no word holds."""
    if extent > LARGEST_EXTENT:
        message = f"the extent {extent} given for '{name}' is larger than {LARGEST_EXTENT}"
        raise CompileError(message, location=file_name, hint="give a smaller one")
