"""Reading an ONNX model: load, check, inline functions, bind dynamic extents, infer shapes."""

import os
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
from google.protobuf.message import DecodeError

from mnc.core.diagnostics import CompileError
from mnc.core.files import path_hint
from mnc.core.sequences import HostSequence, Shapes
from mnc.lowering.onnx_to_graph.deprecated_operators import deprecated_set_aside
from mnc.lowering.onnx_to_graph.dropped_windows import without_dropped_windows
from mnc.lowering.onnx_to_graph.dynamic_shapes import bind_shapes, fix_inputs
from mnc.lowering.onnx_to_graph.import_arguments import check_source
from mnc.lowering.onnx_to_graph.known_values import KnownValues
from mnc.lowering.onnx_to_graph.loaded_model import LoadedModel
from mnc.lowering.onnx_to_graph.local_functions import without_functions
from mnc.lowering.onnx_to_graph.open_types import open_types_set_aside
from mnc.lowering.onnx_to_graph.proto_checks import check_proto
from mnc.lowering.onnx_to_graph.resize_scales import with_reachable_scales
from mnc.lowering.onnx_to_graph.runtime_operators import with_runtime_bodies
from mnc.lowering.onnx_to_graph.shape_inference import check_sizes, complete, inferred, sample_of
from mnc.lowering.onnx_to_graph.size_limits import check_node_count, inlined_nodes
from mnc.lowering.onnx_to_graph.sparse_tensors import dense_initializers
from mnc.lowering.onnx_to_graph.standard_domain import name_standard_domain
from mnc.lowering.onnx_to_graph.types_left_out import value_types
from mnc.lowering.onnx_to_graph.unknown_attributes import STANDARD_DOMAINS, drop_unknown_attributes

OLDEST_OPSET = 7
CONVERTED_OPSET = 8
"""What models of an older operator set are converted to."""
NEWEST_OPSET = onnx.defs.onnx_opset_version()

_LOAD_HINT = "check that it is a complete ONNX file, for instance with onnx.checker"
_MODEL_HINT = "the onnx package refuses the model, too: correct the node, or export the model again"


_LONGEST_PLACE = 200
"""Characters of a path that messages show."""
LARGE = 1 << 16
"""Bytes of an initializer from which on it is kept apart: checks and shape inference copy a model several times, and
look at shapes and small values only."""


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _one_line(error: Exception) -> str:
    """All that ONNX says: the node often stands in its later lines."""
    return " ".join(str(error).replace("==> Context:", "").split()) or type(error).__name__


def _data_hint(name: str) -> str | None:
    """What to look at if the file itself can be read, and the weights that it has elsewhere cannot."""
    try:
        model = onnx.load(name, load_external_data=False)
    except Exception:  # then it is the file
        return None
    entries = [entry for tensor in model.graph.initializer for entry in tensor.external_data]
    places = sorted({entry.value for entry in entries if entry.key == "location"})
    shown = ", ".join(f"'{place}'" for place in places if place.isprintable() and len(place) < _LONGEST_PLACE)
    return f"its weights are in {shown}, which must lie beside the model and be complete" if shown else None


def read_proto(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """Read a model with its external data.

    Raises:
        CompileError: the file is missing, unreadable, truncated or not ONNX.
    """
    name = os.fspath(path)
    try:
        model = onnx.load(name)
    except DecodeError:
        raise CompileError("this is not an ONNX model, or it is truncated", location=name, hint=_LOAD_HINT) from None
    except OSError as error:
        message = f"cannot read the file: {error.strerror or error}"
        hint = "standard input is /dev/stdin" if name == "-" else path_hint(name)
        raise CompileError(message, location=name, hint=hint) from None
    except (ValueError, TypeError, RuntimeError, MemoryError, onnx.checker.ValidationError) as error:
        # RuntimeError is what the file system says of a place of external data
        message = f"cannot read the model: {_first_line(error)}"
        raise CompileError(message, location=name, hint=_data_hint(name) or _LOAD_HINT) from None
    # Bytes of another format can decode to a model without any content.
    if not model.graph.output and not model.graph.node:
        if Path(name).is_fifo():
            message, hint = "there is nothing to read: a pipe can be read only once", "save the model to a file"
            raise CompileError(message, location=name, hint=hint)
        raise CompileError("this is not an ONNX model: it has no graph", location=name, hint=_LOAD_HINT)
    name_standard_domain(model)
    return model


def find_opset(model: onnx.ModelProto, file_name: str) -> int:
    """Version of the standard operator set that the model asks for.

    Raises:
        CompileError: older or newer than what is supported, or several.
    """
    versions = [entry.version for entry in model.opset_import if entry.domain in STANDARD_DOMAINS]
    if not versions and all(node.domain not in STANDARD_DOMAINS for node in model.graph.node):
        return NEWEST_OPSET
    if not versions:
        message = "the model does not name the version of the standard operator set"
        raise CompileError(message, location=file_name, hint="add an opset_import for domain ''")
    if len(set(versions)) > 1:
        message = f"the model names several versions of the standard operator set: {', '.join(map(str, versions))}"
        raise CompileError(message, location=file_name, hint="keep one opset_import of the domains '' and 'ai.onnx'")
    if not OLDEST_OPSET <= versions[0] <= NEWEST_OPSET:
        message = f"opset {versions[0]} is not supported, {OLDEST_OPSET} to {NEWEST_OPSET} are"
        hint = "convert the model with onnx.version_converter.convert_version"
        raise CompileError(message, location=file_name, hint=hint)
    return versions[0]


def without_old_operators(model: onnx.ModelProto, file_name: str) -> onnx.ModelProto:
    """A model of an operator set before the oldest one, converted; others as they are.

    Raises:
        CompileError: ONNX has no conversion for an operator.
    """
    versions = [entry.version for entry in model.opset_import if entry.domain in STANDARD_DOMAINS]
    if not versions or versions[0] >= OLDEST_OPSET or any(node.domain for node in model.graph.node):
        return model
    try:
        return onnx.version_converter.convert_version(_with_initializers_as_inputs(model), CONVERTED_OPSET)
    except (RuntimeError, ValueError, onnx.version_converter.ConvertError) as error:
        message = f"opset {versions[0]} is not supported and cannot be converted: {_first_line(error)}"
        raise CompileError(message, location=file_name, hint=f"export it for opset {OLDEST_OPSET} or newer") from None


def _with_initializers_as_inputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which all initializers are inputs, too: the converter of ONNX knows no others."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    declared = {value.name for value in copy.graph.input}
    for tensor in copy.graph.initializer:
        if tensor.name not in declared:
            value = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            copy.graph.input.append(value)
    return copy


def _check(model: onnx.ModelProto, weights: Iterable[onnx.TensorProto], file_name: str) -> None:
    try:
        with deprecated_set_aside(model), open_types_set_aside(model.graph):
            onnx.checker.check_model(model)
        for tensor in weights:
            onnx.checker.check_tensor(tensor)
    except onnx.checker.ValidationError as error:
        raise CompileError(f"the model is invalid: {_one_line(error)}", location=file_name, hint=_MODEL_HINT) from None


def infer_shapes(
    model: onnx.ModelProto, file_name: str, opset: int, weights: Mapping[str, onnx.TensorProto] | None = None,
    strict: bool = False,
) -> onnx.ModelProto:  # fmt: skip
    """Shape inference over the whole graph; what its values say about shapes included.

    Raises:
        CompileError: shapes or types contradict one another (only if `strict`), or a value is larger than DRAM.
    """
    model = inferred(model, file_name, strict)
    types = value_types(model.graph)
    loaded = LoadedModel(model, file_name, opset, weights or {})
    complete(model, KnownValues(loaded, lambda name: sample_of(types, name)).get, types)
    check_sizes(model, file_name)
    return model


def _copy_fields(source: Any, target: Any, but: Container[str]) -> None:
    """Copy the fields of a message that are set, all but those."""
    for descriptor, value in source.ListFields():
        if descriptor.name in but:
            continue
        if descriptor.is_repeated:
            getattr(target, descriptor.name).extend(value)
        elif descriptor.message_type is not None:
            getattr(target, descriptor.name).CopyFrom(value)
        else:
            setattr(target, descriptor.name, value)


def without_weights(
    source: onnx.ModelProto, fixed: Container[str] = (), file_name: str = "<model>"
) -> tuple[onnx.ModelProto, dict[str, onnx.TensorProto]]:
    """A copy of a model in which large initializers are inputs, and these initializers, which are not copied; sparse
    ones have all their elements.

    Args:
        fixed: initializers to leave.
    """
    model = onnx.ModelProto()
    _copy_fields(source, model, ("graph",))
    _copy_fields(source.graph, model.graph, ("initializer", "sparse_initializer"))
    declared = {value.name: value for value in model.graph.input}
    weights: dict[str, onnx.TensorProto] = {}
    for tensor in (*source.graph.initializer, *dense_initializers(source.graph, file_name)):
        if tensor.ByteSize() < LARGE or tensor.name in fixed or tensor.name in weights:
            model.graph.initializer.append(tensor)
            continue
        weights[tensor.name] = tensor
        value = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        if tensor.name in declared:
            declared[tensor.name].CopyFrom(value)
        else:
            model.graph.input.append(value)
    return model, weights


def load_model(
    source: str | os.PathLike[str] | onnx.ModelProto,
    shapes: Shapes | None = None,
    file_name: str | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    expand: Callable[[onnx.ModelProto, int, str], tuple[onnx.ModelProto, list[HostSequence]]] | None = None,
) -> LoadedModel:
    """Load `source`, a path or a model in memory, which is not changed.

    Args:
        shapes: shapes of inputs with dynamic extents, or the extents by their names; see `bind_shapes`.
        file_name: how messages call the model.
        constants: values of inputs that become initializers.
        expand: callable (model, opset, file name) -> model that replaces operators by their definitions, and outputs
            that are sequences by their elements, which it gives, too.

    Raises:
        CompileError: for everything that is wrong with the file or the model.
    """
    check_source(source)
    name = file_name or ("<model>" if isinstance(source, onnx.ModelProto) else os.fspath(Path(source)))
    whole = source if isinstance(source, onnx.ModelProto) else read_proto(source)
    check_proto(whole, name)
    model, weights = without_weights(without_old_operators(whole, name), constants or {}, name)
    name_standard_domain(model)
    if not model.graph.output:
        raise CompileError("the model has no outputs", location=name, hint="declare what it computes in graph.output")
    model = with_runtime_bodies(model, name)
    opset = find_opset(model, name)
    drop_unknown_attributes(model, opset, name)
    _check(model, weights.values(), name)
    if model.functions:
        check_node_count(inlined_nodes(model, name), "the model with its functions replaced", name)
        model = without_functions(model)
    fix_inputs(model.graph, dict(constants or {}), weights, name)
    sequences = bind_shapes(model.graph, shapes or {}, weights, name)
    model = without_dropped_windows(model, opset)
    if expand is not None:
        model, found = expand(model, opset, name)
        sequences += found
        if not model.graph.output:
            message = "no output has a tensor: sequences are empty, and optional values are not there"
            raise CompileError(message, location=name, hint="give inputs another length, or a value")
    model = with_reachable_scales(LoadedModel(without_dropped_windows(model, opset), name, opset, weights))
    inferred_model = infer_shapes(model, name, opset, weights, strict=True)
    return LoadedModel(inferred_model, name, opset, weights, tuple(sequences))
