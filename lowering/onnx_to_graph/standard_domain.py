"""The standard operator set has two names, of which ONNX's own tools take the empty one only."""

import onnx

from mnc.lowering.onnx_to_graph.size_limits import every_node

_LONG_NAME = "ai.onnx"


def name_standard_domain(model: onnx.ModelProto) -> None:
    """Call the domain ``ai.onnx`` by its empty name: in the operator sets that a model and its functions import, and in
    their nodes, in place. What is imported by both names in different versions stays, and is refused."""
    for imports in (model.opset_import, *(function.opset_import for function in model.functions)):
        long_ones = [entry for entry in imports if entry.domain == _LONG_NAME]
        short_ones = [entry.version for entry in imports if not entry.domain]
        for entry in long_ones:
            if not short_ones:
                entry.domain = ""
            elif short_ones == [entry.version]:
                imports.remove(entry)
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        for node in every_node(nodes):
            if node.domain == _LONG_NAME:
                node.domain = ""
