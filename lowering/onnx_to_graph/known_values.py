"""Values that are known when the model is imported: initializers, constants, and what follows from them.

Axes, shapes and bounds are often inputs in ONNX, sometimes computed by small graphs of their own
(Shape, Gather, Concat, ...). They are evaluated with the reference implementation, on demand.
"""

from collections.abc import Callable

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.onnx_file import LoadedModel

_RANDOM = frozenset(
    ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Dropout"]
)
_TYPE_ONLY = {"Shape": (0,), "Size": (0,), "CastLike": (1,)}
"""Operands of which an operator only looks at the type."""


class KnownValues:
    """Lazy constant evaluation of a graph.

    Args:
        sample_of: an array of the type of a value that was imported already, for operators that
            only look at types, such as Shape.
    """

    def __init__(self, model: LoadedModel, sample_of: Callable[[str], np.ndarray | None]) -> None:
        self._model = model
        self._sample_of = sample_of
        self._initializers = {**model.weights, **{tensor.name: tensor for tensor in model.graph.initializer}}
        self._producers = {name: node for node in model.graph.node for name in node.output if name}
        self._values: dict[str, np.ndarray | None] = {}

    def is_initializer(self, name: str) -> bool:
        """True for a weight stored in the file."""
        return name in self._initializers

    def add(self, node: onnx.NodeProto) -> None:
        """Take in a node that the graph does not hold yet."""
        self._producers.update({name: node for name in node.output if name})

    def get(self, name: str) -> np.ndarray | None:
        """The value of `name`, or None when it depends on an input of the model."""
        # Depth first with an explicit stack: chains may be longer than Python's recursion limit.
        stack = [name]
        while stack:
            current = stack[-1]
            missing = [] if current in self._values else self._missing(current)
            if missing:
                stack.extend(missing)
                continue
            if current not in self._values:
                self._values[current] = self._compute(current)
            stack.pop()
        return self._values[name]

    def _missing(self, name: str) -> list[str]:
        """Inputs of the producer of `name` that must be evaluated first."""
        node = self._producers.get(name)
        if node is None or name in self._initializers or not self._is_evaluable(node):
            return []
        skipped = _TYPE_ONLY.get(node.op_type, ())
        return [name for i, name in enumerate(node.input) if name and i not in skipped and name not in self._values]

    @staticmethod
    def _is_evaluable(node: onnx.NodeProto) -> bool:
        has_subgraph = any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute)
        return not has_subgraph and node.op_type not in _RANDOM

    def _compute(self, name: str) -> np.ndarray | None:
        if name in self._initializers:
            return onnx.numpy_helper.to_array(self._initializers[name])
        node = self._producers.get(name)
        if node is None or not self._is_evaluable(node):
            return None
        type_only = _TYPE_ONLY.get(node.op_type, ())
        feeds: dict[str, np.ndarray] = {}
        for i, operand in enumerate(node.input):
            value = self._sample_of(operand) if i in type_only else self._values.get(operand)
            if operand and value is None:
                return None
            if operand and value is not None:
                feeds[operand] = value
        try:
            return self._evaluate(node, feeds)[list(node.output).index(name)]
        except Exception:  # what the reference does not compute is left to the operator's handler, which names the node
            return None

    def _evaluate(self, node: onnx.NodeProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        inputs = [onnx.ValueInfoProto(name=name) for name in feeds]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "constant", inputs, outputs)
        # Imports all operator sets of the model: the node may be of any of them.
        model = onnx.helper.make_model(graph, opset_imports=self._model.proto.opset_import)
        results = iter(evaluator(model).run(None, feeds))
        return [np.asarray(next(results)) if name else np.empty(0) for name in node.output]
