"""Parts of a model as models of their own."""

from collections.abc import Sequence

import onnx
from onnx import helper

from mnc.model_values import needed


def typed_values(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """Every value of a model whose type is known, by name; extents may be open."""
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    found = {value.name: value for value in (*graph.value_info, *graph.input, *graph.output)}
    return {name: value for name, value in found.items() if value.type.tensor_type.elem_type}


def is_static(value: onnx.ValueInfoProto) -> bool:
    """Whether all extents are numbers."""
    tensor = value.type.tensor_type
    return tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim)


def part(model: onnx.ModelProto, kept: Sequence[int]) -> onnx.ModelProto | None:
    """The nodes at the positions `kept` as a model: what they read from others is an input, what nobody else of them
    reads is an output. None where a type or an extent of an input is not known, or nothing is left. Outputs may have
    open extents: that may be what is looked for."""
    graph = model.graph
    nodes = [graph.node[index] for index in kept]
    types = typed_values(model)
    made = {name for node in nodes for name in node.output if name}
    read = dict.fromkeys(name for node in nodes for name in needed(node))
    weights = [tensor for tensor in graph.initializer if tensor.name in read]
    constant = {tensor.name for tensor in weights}
    inputs = [name for name in read if name not in made and name not in constant]
    asked = [value.name for value in graph.output if value.name in made]
    outputs = [name for node in nodes for name in node.output if name and (name in asked or name not in read)]
    if not outputs or any(name not in types for name in (*inputs, *outputs)):
        return None
    if not all(is_static(types[name]) for name in inputs):
        return None
    cut = helper.make_graph(
        nodes, graph.name or "reduced", [types[n] for n in inputs], [types[n] for n in dict.fromkeys(outputs)], weights
    )
    made_model = helper.make_model(cut, opset_imports=model.opset_import, ir_version=model.ir_version)
    made_model.functions.extend(model.functions)
    return made_model
