"""What must hold of a model before anything else reads it: text is text, element types exist, data are here.

Native code of ONNX and of MLIR takes names as UTF-8 and tensors at their word.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import onnx

from mnc.core.diagnostics import CompileError

_TYPES = frozenset(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED}
_HINT = "export the model again"
_PLAIN = frozenset(
    getattr(onnx.AttributeProto, name) for name in ("INT", "INTS", "FLOAT", "FLOATS", "STRING", "STRINGS")
)
_Owner = onnx.GraphProto | onnx.FunctionProto


def _check_texts(what: str, texts: Iterable[Any], file_name: str) -> None:
    """The library gives bytes for text that is not UTF-8."""
    for text in texts:
        if isinstance(text, bytes):
            shown = text.decode("utf-8", "backslashreplace")
            raise CompileError(f"{what} is not UTF-8: '{shown}'", location=file_name, hint=_HINT)


def check_tensor(tensor: onnx.TensorProto, file_name: str) -> None:
    """Raise CompileError if the element type does not exist, or the data are in a file that was not read."""
    _check_texts("a name of a tensor", (tensor.name,), file_name)
    if tensor.data_type not in _TYPES:
        message = f"tensor '{tensor.name}' has element type {tensor.data_type}, which ONNX does not have"
        raise CompileError(message, location=file_name, hint=_HINT)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        message = f"the data of tensor '{tensor.name}' are in another file, which was not read"
        raise CompileError(message, location=file_name, hint="load them with onnx.load_external_data_for_model")


def _check_value(value: onnx.ValueInfoProto, file_name: str) -> None:
    _check_texts("a name of a value", (value.name,), file_name)
    type_ = value.type
    while type_.WhichOneof("value") in ("sequence_type", "optional_type"):
        type_ = getattr(type_, type_.WhichOneof("value")).elem_type
    if not type_.HasField("tensor_type"):
        return
    tensor = type_.tensor_type
    _check_texts(f"an extent of '{value.name}'", (dim.dim_param for dim in tensor.shape.dim), file_name)
    if tensor.elem_type and tensor.elem_type not in _TYPES:
        message = f"value '{value.name}' has element type {tensor.elem_type}, which ONNX does not have"
        raise CompileError(message, location=file_name, hint=_HINT)


def _check_node(node: onnx.NodeProto, file_name: str) -> Iterator[onnx.GraphProto]:
    """Check a node; its graphs. The checker of ONNX makes sure that attributes have the type that they state."""
    texts = (node.name, node.op_type, node.domain, *node.input, *node.output)
    _check_texts("a name of a node", texts, file_name)
    _check_parts(node, file_name)
    for attribute in node.attribute:
        _check_texts("a name of an attribute", (attribute.name,), file_name)
        kind = attribute.type
        if kind in _PLAIN or attribute.ref_attr_name:  # which names an attribute of the call of its function
            continue
        for tensor in (attribute.t,) if kind == onnx.AttributeProto.TENSOR else attribute.tensors:
            check_tensor(tensor, file_name)
        if kind == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _check_parts(node: onnx.NodeProto, file_name: str) -> None:
    """Shape inference makes room for all parts of a Split before it looks whether the node has as many outputs."""
    parts = [attribute.i for attribute in node.attribute if attribute.name == "num_outputs"]
    if node.op_type == "Split" and parts and parts != [len(node.output)]:
        message = f"num_outputs is {parts[0]}, but it has {len(node.output)} outputs"
        raise CompileError(message, node.name or node.output[0], node.op_type, "make them equal", file_name)


def check_proto(model: onnx.ModelProto, file_name: str) -> None:
    """Check everything of a model that is read later.

    Raises:
        CompileError: a name is no text, an element type does not exist, or external data were not loaded.
    """
    texts = (model.producer_name, model.producer_version, model.domain, model.doc_string, model.graph.doc_string)
    _check_texts("a text of the model", (*texts, *(entry.domain for entry in model.opset_import)), file_name)
    waiting: list[_Owner] = [model.graph, *model.functions]
    while waiting:  # no recursion: graphs may nest deeply
        owner = waiting.pop()
        _check_texts("a name of a graph", (owner.name,), file_name)
        if isinstance(owner, onnx.GraphProto):
            for tensor in owner.initializer:
                check_tensor(tensor, file_name)
            for value in (*owner.input, *owner.output):
                _check_value(value, file_name)
        else:
            _check_texts("a name of a function", (owner.domain, owner.overload, *owner.input, *owner.output), file_name)
        for value in owner.value_info:
            _check_value(value, file_name)
        waiting.extend(graph for node in owner.node for graph in _check_node(node, file_name))
