"""Operators of a model that are refused whatever the shapes are."""

import onnx

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.control_flow import CONTROL_FLOW
from mnc.lowering.onnx_to_graph.importer import unsupported
from mnc.lowering.onnx_to_graph.local_functions import without_functions
from mnc.lowering.onnx_to_graph.node import Node
from mnc.lowering.onnx_to_graph.onnx_file import find_opset, without_old_operators
from mnc.lowering.onnx_to_graph.sequences import SEQUENCES
from mnc.lowering.onnx_to_graph.support import find_operator, has_body, operator_version

_RESOLVED = CONTROL_FLOW | SEQUENCES
"""Replaced by what they do, which may hang on shapes."""
_SHAPE_ONLY = ("Shape", "Size")


def refused_operators(source: onnx.ModelProto, file_name: str) -> tuple[int, list[CompileError]]:
    """The number of nodes, and a refusal for each of those that no handler takes and ONNX defines by no body.

    Nodes that read neither inputs nor what was computed from them are left out: where shapes are known, ONNX's
    reference evaluates them. `source` has open extents and no other fault that `load_model` finds before them.
    """
    model = without_functions(without_old_operators(source, file_name))
    find_opset(model, file_name)  # which refuses versions
    opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    weights = {tensor.name for tensor in model.graph.initializer}
    computed = {value.name for value in model.graph.input} - weights
    refused = []
    for index, proto in enumerate(model.graph.node):
        if not computed & set(proto.input) or proto.op_type in _SHAPE_ONLY:
            continue
        computed.update(filter(None, proto.output))
        operator, version = find_operator(proto), operator_version(proto, opsets)
        is_taken = operator is not None and version in operator.versions
        if not is_taken and proto.op_type not in _RESOLVED and not has_body(proto, opsets):
            refused.append(unsupported(_node(proto, index, version, file_name)))
    return len(model.graph.node), refused


def _node(proto: onnx.NodeProto, index: int, version: int, file_name: str) -> Node:
    """A node for a message: nothing is known of what it reads."""
    name = proto.name or f"{proto.op_type}_{index}"
    return Node(proto, name, version, file_name, lambda _: None, lambda _: None, lambda _: onnx.TensorProto.UNDEFINED)
