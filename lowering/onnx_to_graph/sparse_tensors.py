"""Tensors of which only those elements are stored that are not 0."""

import math

import numpy as np
import onnx

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.proto_checks import check_tensor
from mnc.lowering.onnx_to_graph.size_limits import LARGEST_CONSTANT


def dense(sparse: onnx.SparseTensorProto) -> np.ndarray:
    """All elements; those that are stored have coordinates, or their number in the tensor.

    Raises:
        CompileError: they are too many.
    """
    if (count := math.prod(sparse.dims)) > LARGEST_CONSTANT:
        message = f"sparse tensor '{sparse.values.name}' has {count} elements, at most {LARGEST_CONSTANT} are filled in"
        raise CompileError(message, hint="make it smaller, or store all of its elements")
    values, places = onnx.numpy_helper.to_array(sparse.values), onnx.numpy_helper.to_array(sparse.indices)
    result = np.zeros(tuple(sparse.dims), values.dtype)
    result[np.unravel_index(places, result.shape) if places.ndim == 1 else tuple(places.T)] = values
    return result


def dense_initializers(graph: onnx.GraphProto, file_name: str) -> list[onnx.TensorProto]:
    """The sparse initializers of a graph with all their elements.

    Raises:
        CompileError: places and numbers do not fit together, or there are too many elements.
    """
    made = []
    for sparse in graph.sparse_initializer:
        for tensor in (sparse.values, sparse.indices):
            check_tensor(tensor, file_name)
        try:
            onnx.checker.check_sparse_tensor(sparse)
        except onnx.checker.ValidationError as error:
            message = f"sparse initializer '{sparse.values.name}' is invalid: {str(error).splitlines()[0]}"
            raise CompileError(message, location=file_name, hint="export the model again") from None
        made.append(onnx.numpy_helper.from_array(dense(sparse), sparse.values.name))
    return made


def without_sparse_tensors(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy of it with all elements of its sparse initializers and constants.

    Raises:
        CompileError: see `dense_initializers`.
    """
    if not _has_sparse_tensors(model.graph):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _fill_in(copy.graph)
    return copy


def _inner_graphs(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    found = []
    for node in graph.node:
        for attribute in node.attribute:
            found += [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
    return found


def _sparse_constants(graph: onnx.GraphProto) -> list[onnx.AttributeProto]:
    return [attribute for node in graph.node for attribute in node.attribute if attribute.name == "sparse_value"]


def _has_sparse_tensors(graph: onnx.GraphProto) -> bool:
    own = len(graph.sparse_initializer) or _sparse_constants(graph)
    return bool(own) or any(map(_has_sparse_tensors, _inner_graphs(graph)))


def _fill_in(graph: onnx.GraphProto) -> None:
    graph.initializer.extend(dense_initializers(graph, ""))
    del graph.sparse_initializer[:]
    for attribute in _sparse_constants(graph):
        value = onnx.numpy_helper.from_array(dense(attribute.sparse_tensor))
        attribute.CopyFrom(onnx.helper.make_attribute("value", value))
    for inner in _inner_graphs(graph):
        _fill_in(inner)
