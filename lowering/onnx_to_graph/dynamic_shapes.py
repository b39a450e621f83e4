"""Binding the dynamic extents of a model's inputs."""

from collections.abc import Container, Iterable, Mapping

import numpy as np
import onnx

from mnc.core.diagnostics import CompileError
from mnc.core.sequences import HostSequence, Shapes
from mnc.core.spelling import shape_argument
from mnc.lowering.onnx_to_graph.import_arguments import constant_tensor
from mnc.lowering.onnx_to_graph.input_shapes import OpenExtentsError, bind_input, check_extent, shape_hint
from mnc.lowering.onnx_to_graph.sequence_inputs import list_type, refuse_open, split_inputs
from mnc.lowering.onnx_to_graph.unsupported_hints import WITHOUT_ZIP_MAP


def _substitute(value: onnx.ValueInfoProto, bound: dict[str, int]) -> None:
    for dim in value.type.tensor_type.shape.dim:
        if dim.HasField("dim_param") and dim.dim_param in bound:
            dim.dim_value = bound[dim.dim_param]


def fix_inputs(
    graph: onnx.GraphProto, constants: dict[str, np.ndarray], weights: Container[str], file_name: str
) -> None:
    """Turn inputs of `graph` into initializers with these values, in place; `weights` are initializers kept elsewhere.

    Raises:
        CompileError: a name is no input, or its element type or its shape differs.
    """
    inputs = {value.name: value for value in graph.input if value.name not in weights}
    for name, array in constants.items():
        if name not in inputs:
            hint = f"the inputs are: {', '.join(inputs) or 'none'}"
            raise CompileError(f"a value was given for '{name}', which is no input", location=file_name, hint=hint)
        tensor = constant_tensor(inputs[name], array, file_name)
        graph.input.remove(inputs[name])
        graph.initializer.append(tensor)


def _read_names(graph: onnx.GraphProto) -> set[str]:
    """Values that nodes or subgraphs read, and outputs."""
    names = {value.name for value in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                names |= _read_names(inner)
    return names


def _is_representable(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        return False
    kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).kind
    return kind not in "OSUc" and all(dim.HasField("dim_value") for dim in tensor.shape.dim)


def _drop_unread(graph: onnx.GraphProto) -> None:
    """Remove inputs that nothing reads where they would be refused: open extents, strings, sequences."""
    read = _read_names(graph)
    for value in [value for value in graph.input if value.name not in read and not _is_representable(value)]:
        graph.input.remove(value)


def _named_extents(
    inputs: dict[str, onnx.ValueInfoProto], shapes: dict[str, tuple[int, ...]], file_name: str
) -> dict[str, int]:
    """What `shapes` says of named extents; raises CompileError for a name that is neither an input nor an extent."""
    dims = [dim for value in inputs.values() for dim in value.type.tensor_type.shape.dim]
    named = dict.fromkeys(dim.dim_param for dim in dims if dim.dim_param)
    bound = {}
    for name, shape in shapes.items():
        if name in inputs:
            continue
        if name not in named:
            extents = f", the open extents are: {', '.join(named)}" if named else ""
            hint = f"the inputs are: {', '.join(inputs) or 'none'}{extents}"
            raise CompileError(f"a shape was given for '{name}', which is no input", location=file_name, hint=hint)
        if len(shape) != 1 or shape[0] < 0:
            hint = f"give it with {shape_argument(name, 1)}"
            raise CompileError(f"'{name}' is one extent", location=file_name, hint=hint)
        check_extent(shape[0], name, file_name)
        bound[name] = shape[0]
    return bound


def _open_negative(values: Iterable[onnx.ValueInfoProto]) -> None:
    """Some exporters write -1 for an extent that is open."""
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value < 0:
                dim.ClearField("dim_value")


def bind_shapes(
    graph: onnx.GraphProto, shapes: Shapes, weights: Iterable[str], file_name: str
) -> list[HostSequence]:
    """Give every input of `graph` a static shape, in place; `weights` are initializers kept elsewhere.

    `shapes` has shapes of inputs by their names and single extents by theirs. A named extent that one input binds is
    bound everywhere. A sequence becomes as many inputs as its length says, which stands there in the place of a shape,
    and an optional value one or none. Inputs that nothing reads are removed where no shape can be found for them.

    Returns:
        Which inputs the sequences and optional values have become.

    Raises:
        CompileError: a shape does not fit, or names no input.
        OpenExtentsError: an extent stays dynamic.
    """
    _open_negative((*graph.input, *graph.output, *graph.value_info))
    initializers = {*weights, *(tensor.name for tensor in graph.initializer)}
    given, sequences = split_inputs(graph, shapes, initializers, file_name)
    inputs = {value.name: value for value in graph.input if value.name not in initializers}
    bound = _named_extents(inputs, given, file_name)
    for name, shape in given.items():
        if name in inputs:
            bind_input(inputs[name], tuple(shape), bound, file_name)
    for value in (*graph.input, *graph.output, *graph.value_info):
        _substitute(value, bound)
    _drop_unread(graph)
    for value in graph.output:
        if value.type.WhichOneof("value") not in (None, "tensor_type") and list_type(value.type) is None:
            is_zip_map = value.type.sequence_type.elem_type.HasField("map_type") or value.type.HasField("map_type")
            hint = WITHOUT_ZIP_MAP if is_zip_map else "give its elements as outputs of their own"
            raise CompileError(f"output '{value.name}' is not a tensor", location=file_name, hint=hint)
    _refuse_open_inputs({value.name: value for value in graph.input if value.name in inputs}, file_name)
    return sequences


def _refuse_open_inputs(inputs: Mapping[str, onnx.ValueInfoProto], file_name: str) -> None:
    for name, value in inputs.items():
        if not value.type.HasField("tensor_type"):
            refuse_open(value, file_name)
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            hint = f"give its shape with {shape_argument(name, 1, 64)}"
            raise OpenExtentsError(f"input '{name}' has no shape", location=file_name, hint=hint)
        dynamic = [d.dim_param or "?" for d in tensor.shape.dim if not d.HasField("dim_value")]
        if dynamic:
            message = f"input '{name}' has dynamic extents: {', '.join(dynamic)}"
            raise OpenExtentsError(message, location=file_name, hint=shape_hint(value))
