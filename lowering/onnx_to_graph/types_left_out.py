"""Types that the inference of ONNX leaves out, and that are declared before it is asked."""

from collections.abc import Mapping

import onnx
import onnx.shape_inference

from mnc.lowering.onnx_to_graph.ml_types import ML_DOMAIN, ml_types
from mnc.lowering.onnx_to_graph.unknown_attributes import STANDARD_DOMAINS

_OF_FIRST_OPERAND = {"GroupNormalization"}
"""Operators whose result has the type of the first operand, which ONNX says in no version of 21 and later."""
Types = Mapping[str, onnx.TypeProto]


def static_shape(type_: onnx.TypeProto) -> list[int] | None:
    """Shape of a tensor type, None unless every extent is known."""
    tensor = type_.tensor_type
    if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    return [dim.dim_value for dim in tensor.shape.dim]


def value_types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    """Types of all values that are declared or were inferred."""
    types = {value.name: value.type for value in (*graph.value_info, *graph.input, *graph.output)}
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    return types


def with_types_left_out(model: onnx.ModelProto) -> tuple[onnx.ModelProto, bool]:
    """The model, with the types declared that inference leaves out: as soon as those of the operands are known.

    Returns:
        The model itself or a copy; and whether a node of another domain has results that nobody knows the type of.
    """
    foreign = any(node.domain not in STANDARD_DOMAINS for node in model.graph.node)
    waiting = [node for node in model.graph.node if _is_left_out(node)]
    while waiting or foreign:
        types = value_types(onnx.shape_inference.infer_shapes(model).graph)
        if (completed := _with_intercepts(model, types)) is not None:
            model = completed
            waiting = [node for node in model.graph.node if _is_left_out(node)]
            continue
        found = {name: type_ for node in waiting for name, type_ in _types_of(node, types).items()}
        if not found:
            return model, any(_has_open_result(node, types) for node in model.graph.node)
        model = _declared(model, found)
        waiting = [node for node in waiting if not found.keys() & set(node.output)]
    return model, False


def _with_intercepts(model: onnx.ModelProto, types: Types) -> onnx.ModelProto | None:
    """A copy in which linear classifiers have intercepts, by which inference counts the scores; None without change."""
    missing = {
        i: len(coefficients) // max(shape[-1], 1)
        for i, node in enumerate(model.graph.node)
        if node.domain == ML_DOMAIN and node.op_type == "LinearClassifier" and node.input[0] in types
        if all(entry.name != "intercepts" for entry in node.attribute)
        for coefficients in [entry.floats for entry in node.attribute if entry.name == "coefficients"]
        if (shape := static_shape(types[node.input[0]]))
    }
    if not missing:
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for i, count in missing.items():
        copy.graph.node[i].attribute.append(onnx.helper.make_attribute("intercepts", [0.0] * max(count, 1)))
    return copy


def _is_left_out(node: onnx.NodeProto) -> bool:
    is_known = node.domain == ML_DOMAIN or (node.domain in STANDARD_DOMAINS and node.op_type in _OF_FIRST_OPERAND)
    return bool(is_known and node.input and node.output)


def _has_open_result(node: onnx.NodeProto, types: Types) -> bool:
    return node.domain not in STANDARD_DOMAINS and any(
        name and (name not in types or types[name].WhichOneof("value") is None) for name in node.output
    )


def _types_of(node: onnx.NodeProto, types: Types) -> Types:
    """Types of results of the node that say more than those that are known, as far as they follow from its operands."""
    if node.domain != ML_DOMAIN:
        is_open = node.output[0] not in types and node.input[0] in types
        return {node.output[0]: types[node.input[0]]} if is_open else {}
    operands = [name for name in node.input if name]
    if any(name not in types or static_shape(types[name]) is None for name in operands):
        return {}
    named = zip(node.output, ml_types(node, [types[name] for name in operands]), strict=False)
    return {name: type_ for name, type_ in named if name and _is_news(types.get(name), type_)}


def _is_news(declared: onnx.TypeProto | None, found: onnx.TypeProto) -> bool:
    """Whether a type says more than what is declared, or something else: exporters declare [?, 1] for regressors of
    several targets, which nobody checked."""
    if declared is None or declared.WhichOneof("value") is None:
        return True
    same_kind = declared.tensor_type.elem_type == found.tensor_type.elem_type
    return same_kind and static_shape(declared) != static_shape(found)


def _declared(model: onnx.ModelProto, found: Types) -> onnx.ModelProto:
    """A copy of the model that declares these types."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    own = {value.name: value for value in (*copy.graph.value_info, *copy.graph.output)}
    for name, type_ in found.items():
        (own.get(name) or copy.graph.value_info.add(name=name)).type.CopyFrom(type_)
    return copy
