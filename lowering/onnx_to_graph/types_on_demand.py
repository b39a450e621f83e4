"""Types of values that came into a graph after its shapes were inferred: found when somebody asks for them.

Bodies of loops and branches become nodes of the main graph, many of which nobody asks about.
"""

from collections.abc import Callable

import numpy as np
import onnx

from mnc.lowering.onnx_to_graph.shape_inference import result_types
from mnc.lowering.onnx_to_graph.types_left_out import static_shape, value_types


class TypesOnDemand:
    """Types of the values of a graph with inferred shapes, and of those of the nodes that are added to it.

    Args:
        value_of: the value of a name, or None; values may say something about shapes.

    Attributes:
        declared: types of the values of the graph as it was.
    """

    def __init__(self, model: onnx.ModelProto, value_of: Callable[[str], np.ndarray | None]) -> None:
        self.declared = value_types(model.graph)
        self._types = dict(self.declared)
        self._value_of = value_of
        self._producers: dict[str, onnx.NodeProto] = {}  # added nodes that were not asked about
        imports = model.opset_import
        self._opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in imports}

    def add(self, node: onnx.NodeProto) -> None:
        """Take in a node that the graph does not hold yet."""
        self._producers.update({name: node for name in node.output if name})

    def get(self, name: str) -> onnx.TypeProto | None:
        """Type of a value, None where it does not follow from its producers and the graph does not declare it."""
        # Depth first with an explicit stack: iterations of a loop make chains longer than Python's recursion limit.
        stack = [name]
        while stack:
            node = self._producers.get(stack[-1])
            missing = [operand for operand in node.input if operand in self._producers] if node is not None else []
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if node is not None:
                self._infer(node)
        return self._types.get(name)

    def _infer(self, node: onnx.NodeProto) -> None:
        for output in node.output:
            self._producers.pop(output, None)
        for name, type_ in result_types(node, self._opsets, self._types, self._value_of).items():
            if name and (name not in self._types or static_shape(type_) is not None):
                self._types[name] = type_
