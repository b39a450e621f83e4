"""A forward model made ready for training: parameters as inputs, a batch size, and a loss behind its output."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.import_arguments import check_source
from mnc.lowering.onnx_to_graph.onnx_file import load_model, read_proto
from mnc.lowering.onnx_to_graph.shape_inference import static_shape
from mnc.lowering.onnx_to_graph.support import expand_functions

LossName = Literal["cross-entropy", "mse"]
SHOWN = 3
"""Names that a message gives of a longer list."""
_OLDEST_OPSET = {"cross-entropy": 12, "mse": 7}


@dataclass(frozen=True)
class ForwardModel:
    """A model with its parameters among its inputs.

    Attributes:
        proto: the model.
        file_name: how messages call it.
        data: name of the input with the samples.
        shape: shape of that input, batch first.
        output: name of the result.
        extents: extents of the result as the model declares them, 0 where it leaves one open.
        parameters: values of the parameters by name.
    """

    proto: onnx.ModelProto
    file_name: str
    data: str
    shape: tuple[int, ...]
    output: str
    extents: tuple[int, ...]
    parameters: dict[str, np.ndarray]

    @property
    def batch(self) -> int:
        """Samples per run."""
        return self.shape[0]

    @property
    def classes(self) -> int:
        """Extent of the result's last dimension, which for cross entropy are the classes.

        Raises:
            CompileError: the result is no row of classes for every sample.
        """
        if len(self.extents) != 2 or not self.extents[-1]:
            message = f"the output '{self.output}' must be [batch, classes] with a fixed number of classes"
            hint = "flatten it and declare its shape in the model"
            raise CompileError(message, location=self.file_name, hint=hint)
        return self.extents[-1]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of the data input, as the importer takes it."""
        return {self.data: self.shape}


def _trainable(graph: onnx.GraphProto) -> list[str]:
    """Float initializers that nodes read, in order, without the statistics of batch normalisations."""
    statistics = {name for node in graph.node if node.op_type == "BatchNormalization" for name in node.input[3:]}
    used = {name for node in graph.node for name in node.input}
    return [
        tensor.name
        for tensor in graph.initializer
        if tensor.data_type == TensorProto.FLOAT and tensor.name in used and tensor.name not in statistics
    ]


def _listed(kind: str, values: Sequence[onnx.ValueInfoProto]) -> str:
    """How many values there are, and the names of the first of them."""
    names = ", ".join(f"'{value.name}'" for value in values[:SHOWN]) + (", ..." if len(values) > SHOWN else "")
    return f"{len(values)} {kind}{'' if len(values) == 1 else 's'}" + (f" ({names})" if names else "")


def _data_input(graph: onnx.GraphProto, file_name: str) -> onnx.ValueInfoProto:
    initialized = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in initialized]
    if len(inputs) != 1 or len(graph.output) != 1:
        found = f"{_listed('input', inputs)} and {_listed('output', graph.output)}"
        message = f"training needs a model with one input and one output, this one has {found}"
        hint = "give the network alone: loss, gradients and updates are made from it"
        raise CompileError(message, location=file_name, hint=hint)
    return inputs[0]


def _bind_batch(value: onnx.ValueInfoProto, batch: int, file_name: str) -> tuple[int, ...]:
    dims = value.type.tensor_type.shape.dim
    if not dims:
        raise CompileError(f"input '{value.name}' has no batch dimension", location=file_name)
    if isinstance(batch, bool) or not isinstance(batch, int | np.integer) or batch < 1:
        raise CompileError(f"a batch of {batch!r} samples is not possible", hint="give a whole number from 1 on")
    fixed = dims[0].dim_value if dims[0].HasField("dim_value") else batch
    if fixed != batch:
        message = f"the model is fixed to {fixed} samples, but the batch is {batch}"
        raise CompileError(message, location=file_name, hint=f"train with a batch of {fixed}")
    rest = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in dims[1:]]
    if 0 in rest:
        message = f"input '{value.name}' has dynamic extents besides the batch"
        raise CompileError(message, location=file_name, hint="export the model with fixed image sizes")
    return (int(batch), *rest)


def prepare(
    model: onnx.ModelProto | str | PathLike[str], batch: int, file_name: str | None = None
) -> ForwardModel:
    """Read a model, turn its parameters into inputs and fix its batch size; messages call it `file_name`.

    Raises:
        CompileError: more than one input or output, no parameters, another fixed batch.
    """
    check_source(model)
    proto = onnx.ModelProto()
    proto.CopyFrom(model if isinstance(model, onnx.ModelProto) else read_proto(model))
    file_name = file_name or ("<model>" if isinstance(model, onnx.ModelProto) else fspath(model))
    graph = proto.graph
    data = _data_input(graph, file_name)
    shape = _bind_batch(data, batch, file_name)
    names = _trainable(graph)
    if not names:
        raise CompileError("the model has no float initializers to train", location=file_name)
    values = {tensor.name: _array(tensor, file_name) for tensor in graph.initializer if tensor.name in names}
    _promote(graph, values)
    output = graph.output[0]
    extents = tuple(dim.dim_value for dim in output.type.tensor_type.shape.dim)
    return ForwardModel(proto, file_name, data.name, shape, output.name, extents, values)


def _array(tensor: onnx.TensorProto, file_name: str) -> np.ndarray:
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        hint = "export the model again; onnx.checker says more"
        raise CompileError(f"cannot read initializer '{tensor.name}': {error}", location=file_name, hint=hint) from None


def _promote(graph: onnx.GraphProto, values: dict[str, np.ndarray]) -> None:
    for tensor in [tensor for tensor in graph.initializer if tensor.name in values]:
        graph.initializer.remove(tensor)
    declared = {value.name for value in graph.input}
    for name, value in values.items():
        if name not in declared:
            graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))


def _fresh(graph: onnx.GraphProto, name: str) -> str:
    taken = {n for node in graph.node for n in (*node.input, *node.output)} | {v.name for v in graph.input}
    while name in taken:
        name += "_"
    return name


def _opset(forward: ForwardModel) -> int:
    return next((entry.version for entry in forward.proto.opset_import if entry.domain in ("", "ai.onnx")), 0)


def with_loss(forward: ForwardModel, loss: LossName) -> tuple[onnx.ModelProto, str, str]:
    """The model with a loss as its only output; also the names of the labels and of the loss.

    Raises:
        CompileError: an unknown loss, an opset without it, an output that it does not take, or cross entropy of
            probabilities.
    """
    if not isinstance(loss, str) or loss not in _OLDEST_OPSET:
        raise CompileError(f"there is no loss '{loss}'", hint=f"use {' or '.join(_OLDEST_OPSET)}")
    if _opset(forward) < _OLDEST_OPSET[loss]:
        message = f"loss '{loss}' needs opset {_OLDEST_OPSET[loss]}, the model has {_opset(forward)}"
        hint = "convert the model with onnx.version_converter.convert_version"
        raise CompileError(message, location=forward.file_name, hint=hint)
    proto = onnx.ModelProto()
    proto.CopyFrom(forward.proto)
    graph = proto.graph
    labels, result = _fresh(graph, "labels"), _fresh(graph, "loss")
    last = next((node for node in graph.node if forward.output in node.output), None)
    if loss == "cross-entropy":
        _ = forward.classes  # raises for outputs of another form
        if last is not None and last.op_type in ("Softmax", "LogSoftmax"):
            message = f"its output is that of {last.op_type}, but cross entropy is computed from logits"
            raise CompileError(message, last.name, last.op_type, "leave the last node out", forward.file_name)
        nodes = [helper.make_node("SoftmaxCrossEntropyLoss", [forward.output, labels], [result], name=result)]
        entry = helper.make_tensor_value_info(labels, TensorProto.INT32, [forward.batch])
    else:
        nodes = _mean_square(graph, forward.output, labels, result)
        entry = helper.make_tensor_value_info(labels, TensorProto.FLOAT, _result_shape(forward))
    graph.node.extend(nodes)
    graph.input.append(entry)
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info(result, TensorProto.FLOAT, []))
    return proto, labels, result


def _result_shape(forward: ForwardModel) -> list[int]:
    """Shape of the result for a batch. It is inferred, because labels of one row would be broadcast unnoticed against
    a result whose declaration is vague and that has several rows for every sample."""
    loaded = load_model(forward.proto, forward.shapes, forward.file_name, expand=expand_functions)
    shape = static_shape(loaded.graph.output[0].type)
    if shape is None:
        message = f"the shape of the output '{forward.output}' does not follow from the shape of the input"
        raise CompileError(message, location=forward.file_name, hint="declare it in the model")
    return shape


def _mean_square(graph: onnx.GraphProto, output: str, labels: str, result: str) -> list[Any]:
    difference, square = _fresh(graph, "difference"), _fresh(graph, "square")
    return [
        helper.make_node("Sub", [output, labels], [difference], name=difference),
        helper.make_node("Mul", [difference, difference], [square], name=square),
        helper.make_node("ReduceMean", [square], [result], name=result, keepdims=0),
    ]
