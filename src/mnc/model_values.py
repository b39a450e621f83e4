"""Every value of a model on the ONNX reference, and which of them are known before anything runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.onnx_file import load_model, read_proto
from mnc.lowering.onnx_to_graph.sequence_inputs import list_type
from mnc.lowering.onnx_to_graph.types_left_out import value_types
from mnc.options import Options
from mnc.reference import draw_inputs, evaluate, random_inputs

_SHAPE_ONLY = frozenset(["Shape", "Size"])
_RANDOM = frozenset([
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
])  # fmt: skip


@dataclass(frozen=True)
class ModelValues:
    """A model that ran on the reference.

    Attributes:
        model: with static shapes and without local functions.
        values: every tensor by name; inputs and initializers, too.
        static: names of values that do not depend on the data of the inputs.
        inputs: names of the inputs.
    """

    model: onnx.ModelProto
    values: Mapping[str, np.ndarray]
    static: frozenset[str]
    inputs: tuple[str, ...]

    def nodes(self) -> Iterator[tuple[int, onnx.NodeProto]]:
        """Position and proto of the nodes that compute tensors from data."""
        for index, node in enumerate(self.model.graph.node):
            names = [*needed(node), *filter(None, node.output)]
            is_computed = any(name and name not in self.static for name in node.output)
            if is_computed and all(name in self.values for name in names):
                yield index, node


def needed(node: onnx.NodeProto) -> list[str]:
    """Names that a node reads, once each; those that its subgraphs take from outside included."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            for inner in graph.node:
                names += [name for name in needed(inner) if name not in own]
                own.update(inner.output)
            names += [value.name for value in graph.output if value.name not in own]
    return list(dict.fromkeys(names))


def static_names(model: onnx.ModelProto) -> frozenset[str]:
    """Values that follow from initializers and shapes alone."""
    found = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        known = all(name in found for name in needed(node)) and node.op_type not in _RANDOM
        if known or node.op_type in _SHAPE_ONLY:
            found.update(name for name in node.output if name)
    return frozenset(found)


def run_reference(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], names: list[str]) -> dict[str, Any]:
    """Values `names` of a model, whether they are outputs or not.

    Raises:
        CompileError: the reference cannot evaluate it.
    """
    extended = onnx.ModelProto()
    extended.CopyFrom(model)
    declared = {value.name for value in model.graph.output}
    extended.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in declared)
    return evaluate(extended, names, inputs)


def input_names(model: Any) -> list[str]:
    """Inputs of a model file that have no initializer; raises CompileError."""
    proto = read_proto(model)
    initialized = {tensor.name for tensor in proto.graph.initializer}
    return [value.name for value in proto.graph.input if value.name not in initialized]


def evaluate_model(
    model: Any, options: Options, given: Mapping[str, np.ndarray] | None = None, seed: int = 0
) -> ModelValues:
    """Load a model (path or ``onnx.ModelProto``) and run it on the reference.

    Args:
        given: values of inputs; the others are random, from `seed`.

    Raises:
        CompileError: the model cannot be loaded or evaluated, or a given value does not fit.
    """
    proto = load_model(model, options.shapes).complete()
    inputs, fitting = draw_inputs(proto, options.shapes, seed), dict[str, np.ndarray]()
    for name, array in (given or {}).items():
        if name not in inputs:
            raise CompileError(f"there is no input '{name}'", hint=f"the inputs are: {', '.join(inputs) or 'none'}")
        if array.shape != inputs[name].shape:
            shapes = f"{list(array.shape)}, the model takes {list(inputs[name].shape)}"
            raise CompileError(f"input '{name}' has shape {shapes}")
        fitting[name] = array.astype(inputs[name].dtype)
    inputs = random_inputs(proto, options.shapes, seed, fitting)
    values: dict[str, Any] = {t.name: onnx.numpy_helper.to_array(t) for t in proto.graph.initializer}
    values.update(inputs)
    values.update(run_reference(proto, inputs, [name for node in proto.graph.node for name in node.output if name]))
    lists = {name for name, type_ in value_types(proto.graph).items() if list_type(type_) is not None}
    tensors = {
        name: np.asarray(value)
        for name, value in values.items()
        if isinstance(value, np.ndarray | np.generic) and name not in lists
    }
    return ModelValues(proto, tensors, static_names(proto), tuple(inputs))
