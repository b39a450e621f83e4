"""Operators that ONNX defines by a body of other operators: the node is replaced by that body.

The inliner of ONNX replaces calls of functions of the model. Every node becomes a call of a function of its own, made
from the body of its operator; the inliner's own lookup of bodies stops at nodes that leave out an optional input.
"""

from collections.abc import Callable
from typing import Any

import onnx
import onnx.inliner

from mnc.lowering.onnx_to_graph.onnx_file import infer_shapes
from mnc.lowering.onnx_to_graph.size_limits import every_node
from mnc.lowering.onnx_to_graph.type_checks import check_types
from mnc.lowering.onnx_to_graph.types_left_out import value_types

_DOMAIN = "mnc.bodies"


def _with_defaults(node: onnx.NodeProto, schema: onnx.defs.OpSchema) -> onnx.NodeProto:
    """The node with the default values of its attributes written out, which a body refers to."""
    full = onnx.NodeProto()
    full.CopyFrom(node)
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.type != onnx.AttributeProto.UNDEFINED:
            full.attribute.append(attribute.default_value)
    return full


def _newest(versions: list[int], opset: int) -> int | None:
    """The body written for the newest operator set up to that of the model; None if all are newer."""
    return max((version for version in versions if version <= opset), default=None)


def _body(node: onnx.NodeProto, schema: Any, opset: int, types: dict[str, onnx.TypeProto]) -> onnx.FunctionProto | None:
    """Body of the node, or None where the schema has none for these types.

    `schema` is an ``OpSchema``; its functions are missing from the stubs of ONNX.
    """
    function = onnx.FunctionProto()
    if schema.has_function:
        versions = schema.function_opset_versions
        version = _newest(versions, opset)
        function.ParseFromString(schema.get_function_with_opset_version(version or min(versions)))
        return function if version is not None else _in_older_operators(function, node, opset, types)
    version = _newest(schema.context_dependent_function_opset_versions, opset)
    if version is None or any(name and name not in types for name in node.input):
        return None
    given = [(types[name] if name else onnx.TypeProto()).SerializeToString() for name in node.input]
    text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), given)
    if not text:
        return None
    function.ParseFromString(text)
    return function


def _mend(function: onnx.FunctionProto, op_type: str) -> None:
    """Correct what a body of ONNX says wrong, in place: that of AffineGrid squeezes its rows without axes, and with
    them a batch of one."""
    if op_type != "AffineGrid":
        return
    for inner in every_node(function.node):
        if inner.op_type == "Squeeze" and len(inner.input) == 1:
            inner.input.append("one_1d")


def _in_older_operators(
    function: onnx.FunctionProto, node: onnx.NodeProto, opset: int, types: dict[str, onnx.TypeProto]
) -> onnx.FunctionProto | None:
    """A body that was written for a newer operator set than the model's, as that of Softsign is;
    None where it has operators or attributes that came later. CastLike, with which constants begin, becomes a Cast."""
    given = dict(zip(function.input, node.input, strict=False))
    for inner in function.node:
        if inner.op_type == "CastLike" and given.get(inner.input[1]) in types:
            kind = types[given[inner.input[1]]].tensor_type.elem_type
            inner.CopyFrom(onnx.helper.make_node("Cast", inner.input[:1], inner.output, to=kind))
        known = onnx.defs.has(inner.op_type, opset, "") and onnx.defs.get_schema(inner.op_type, opset, "").attributes
        if known is False or any(attribute.name not in known for attribute in inner.attribute):
            return None
    return function


def _element_types(types: dict[str, onnx.TypeProto]) -> Callable[[str], int]:
    return lambda name: types[name].tensor_type.elem_type if name in types else onnx.TensorProto.UNDEFINED


def expand_bodies(
    model: onnx.ModelProto, opset: int, file_name: str,
    schema_of: Callable[[onnx.NodeProto], onnx.defs.OpSchema | None],
) -> onnx.ModelProto | None:  # fmt: skip
    """The model with every node that `schema_of` gives a schema for replaced by its body; None if there was none."""
    wanted = [index for index, node in enumerate(model.graph.node) if schema_of(node) is not None]
    if not wanted:
        return None
    model = infer_shapes(model, file_name, opset)  # bodies depend on element types
    types = value_types(model.graph)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    for index in wanted:
        node = model.graph.node[index]
        schema = schema_of(node)
        if schema is None:
            continue
        if schema.domain == "":
            check_types(node, schema.since_version, _element_types(types), file_name, node.name or node.op_type)
        full = _with_defaults(node, schema)
        function = _body(full, schema, versions.get(schema.domain, 1), types)
        if function is None:
            continue
        _mend(function, node.op_type)
        function.domain, function.name = _DOMAIN, f"{node.op_type}_{index}"
        del function.opset_import[:]
        function.opset_import.extend(model.opset_import)
        model.functions.append(function)
        node.CopyFrom(full)
        node.domain, node.op_type = _DOMAIN, function.name
    if not model.functions:
        return None
    model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
    return onnx.inliner.inline_local_functions(model)
