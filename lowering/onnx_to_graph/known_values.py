"""Values that are known when the model is imported: initializers, constants, and what follows from them.

Axes, shapes and bounds are often inputs in ONNX, sometimes computed by small graphs of their own
(Shape, Gather, Concat, ...). They are evaluated with the reference implementation, on demand.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.loaded_model import LoadedModel
from mnc.lowering.onnx_to_graph.shape_inference import result_types
from mnc.lowering.onnx_to_graph.size_limits import LARGEST_VALUE, check_constant_size, check_work
from mnc.lowering.onnx_to_graph.types_left_out import static_shape
from mnc.lowering.onnx_to_graph.unsupported_hints import RANDOM

_TYPE_ONLY = {"Shape": (0,), "Size": (0,), "CastLike": (1,), "RandomNormalLike": (0,), "RandomUniformLike": (0,)}
"""Operands of which an operator only looks at the type."""

_NO_LARGER = frozenset(
    ["Abs", "Cast", "Ceil", "Concat", "Constant", "Flatten", "Floor", "Identity", "Neg", "Not", "Reshape", "Shape",
     "Size", "Slice", "Squeeze", "Transpose", "Unsqueeze"]
)  # fmt: skip
"""Operators whose results are no larger than their operands together; most of those that compute shapes."""


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

    def sources(self, name: str) -> list[str]:
        """Inputs of the model whose values `name` depends on, in their order; not those of which only shapes matter."""
        seen, waiting = set[str](), [name]
        while waiting:
            current = waiting.pop()
            if current in seen or current in self._initializers:
                continue
            seen.add(current)
            node = self._producers.get(current)
            if node is not None:
                skipped = _TYPE_ONLY.get(node.op_type, ())
                waiting.extend(operand for i, operand in enumerate(node.input) if operand and i not in skipped)
        return [value.name for value in self._model.graph.input if value.name in seen]

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
        draws = node.op_type in RANDOM and not any(attribute.name == "seed" for attribute in node.attribute)
        return not has_subgraph and not draws and node.op_type != "Dropout"

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
        self._check_size(node, feeds)
        try:
            return self._evaluate(node, feeds)[list(node.output).index(name)]
        except Exception:  # what the reference does not compute is left to the operator's handler, which names the node
            return None

    def _check_size(self, node: onnx.NodeProto, feeds: Mapping[str, np.ndarray]) -> None:
        """Raise CompileError before anything large is made."""
        if node.op_type in _NO_LARGER:
            return
        kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in feeds.items()}
        types = {n: onnx.helper.make_tensor_type_proto(kinds[n], value.shape) for n, value in feeds.items()}
        opsets = {entry.domain: entry.version for entry in self._model.proto.opset_import}
        shapes = {name: static_shape(type_) for name, type_ in result_types(node, opsets, types, feeds.get).items()}
        known = {name: math.prod(shape) for name, shape in shapes.items() if shape is not None}
        file_name = self._model.file_name
        for name, count in known.items():
            check_constant_size(count, f"'{name}'", file_name, node, LARGEST_VALUE)
        check_work(node, {name: value.shape for name, value in feeds.items()}, known.values(), file_name)

    def _evaluate(self, node: onnx.NodeProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        inputs = [onnx.ValueInfoProto(name=name) for name in feeds]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "constant", inputs, outputs)
        # Imports all operator sets of the model: the node may be of any of them.
        model = onnx.helper.make_model(graph, opset_imports=self._model.proto.opset_import)
        found: Any = evaluator(model).run(None, feeds)
        if any(isinstance(result, list | dict) for result in found):
            raise ValueError("sequences and optional values have no value of their own")
        results = iter(found)
        return [np.asarray(next(results)) if name else np.empty(0) for name in node.output]
