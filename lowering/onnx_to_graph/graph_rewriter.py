"""What passes over an ONNX graph have in common that replace nodes by others: names, constants, and what is known."""

from collections.abc import Callable, Mapping

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.lowering.onnx_to_graph.known_values import KnownValues
from mnc.lowering.onnx_to_graph.loaded_model import LoadedModel
from mnc.lowering.onnx_to_graph.shape_inference import sample_of
from mnc.lowering.onnx_to_graph.types_left_out import static_shape
from mnc.lowering.onnx_to_graph.types_on_demand import TypesOnDemand

_AXES_ARE_AN_INPUT = 13
"""Operator set since which Squeeze, Unsqueeze and Split take their axes and sizes as an operand."""


class GraphRewriter:
    """Goes over the main graph of a model with inferred shapes, which it changes in place.

    Args:
        handlers: operator -> what emits other nodes for one of its nodes; False leaves the node as it is.
    """

    def __init__(self, model: onnx.ModelProto, opset: int, file_name: str) -> None:
        self._graph = model.graph
        self._types = TypesOnDemand(model, lambda name: self._known.get(name))
        self._known = KnownValues(LoadedModel(model, file_name, opset), self._sample)
        self._file_name = file_name
        self._nodes: list[onnx.NodeProto] = []
        self._opset = opset
        self._count = 0
        self._outputs = {value.name for value in model.graph.output}
        self._taken = {value.name for value in model.graph.input}
        self._taken |= {prefix for node in model.graph.node for name in node.output for prefix in _prefixes(name)}
        self._other_names: dict[str, str] = {}

    def _rewrite(self, handlers: Mapping[str, Callable[[onnx.NodeProto], bool]]) -> bool:
        changed = False
        for given in self._graph.node:
            node = renamed(given, self._other_names) if self._other_names else given
            handler = handlers.get(node.op_type) if node.domain in ("", "ai.onnx") else None
            start = len(self._nodes)
            if handler is not None and handler(node):
                changed = True
                continue
            del self._nodes[start:]
            self._nodes.append(node)
        return changed

    def _replace_nodes(self) -> None:
        kept = [renamed(node, {}) for node in self._nodes]  # copies: deleting the nodes ends the life of the old ones
        del self._graph.node[:]
        self._graph.node.extend(kept)

    def _sample(self, name: str) -> np.ndarray | None:
        type_ = self._types.get(name)
        return sample_of({name: type_}, name) if type_ is not None else None

    def _shape(self, name: str) -> list[int] | None:
        type_ = self._types.declared.get(name)
        return static_shape(type_) if type_ is not None else None

    def _emit(self, node: onnx.NodeProto) -> None:
        self._nodes.append(node)
        self._types.add(node)
        self._known.add(node)

    def _constant(self, value: np.ndarray, name: str) -> str:
        self._emit(onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(value)))
        return name

    def _unique(self, what: str) -> str:
        """A name that neither a value nor what stands before a slash in one has: an earlier pass made names, too."""
        while True:
            self._count += 1
            if (name := f"{what}#{self._count}") not in self._taken:
                return name

    def _give(self, outputs: list[str], values: list[str]) -> None:
        """The values under the names of the node's outputs. A sequence is called by its own name from here on: in older
        operator sets, no operator hands it on. As an output of the model it keeps its name."""
        for output, value in zip(outputs, values, strict=False):
            type_ = self._types.declared.get(output)
            if type_ is not None and type_.HasField("sequence_type") and output not in self._outputs:
                self._other_names[output] = value
            elif output:
                self._emit(onnx.helper.make_node("Identity", [value], [output]))

    def _with_integers(
        self, op_type: str, value: str, outputs: list[str], what: str, numbers: list[int], name: str, **given: int
    ) -> None:
        """A node whose axes or sizes are an operand or, in older operator sets, an attribute."""
        if self._opset >= _AXES_ARE_AN_INPUT:
            operand = self._constant(np.array(numbers, np.int64), self._unique(what))
            node = onnx.helper.make_node(op_type, [value, operand], outputs, name=name)
        else:
            node = onnx.helper.make_node(op_type, [value], outputs, name=name)
            node.attribute.append(onnx.helper.make_attribute(what, numbers))
        node.attribute.extend(onnx.helper.make_attribute(key, number) for key, number in given.items())
        self._emit(node)

    def _stack(self, owner: onnx.NodeProto, values: list[str], axis: int) -> str:
        """Values of one shape as one tensor with a new dimension."""
        wide = [self._unique(value) for value in values]
        for value, name in zip(values, wide, strict=True):
            self._with_integers("Unsqueeze", value, [name], "axes", [axis], f"{owner.name}/stack")
        result = self._unique(owner.name or owner.op_type)
        self._emit(onnx.helper.make_node("Concat", wide, [result], axis=axis, name=f"{owner.name}/stack"))
        return result


def _prefixes(name: str) -> list[str]:
    """A name, and what stands before its slashes."""
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """A copy with its values renamed, those that its subgraphs take from outside included."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for field in (copy.input, copy.output):
        field[:] = [names.get(name, name) for name in field]
    for attribute in copy.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            inner = {t.name for t in graph.initializer} | {v.name for v in graph.input}
            outside = {name: new for name, new in names.items() if name not in inner}
            nodes = [renamed(entry, outside) for entry in graph.node]
            del graph.node[:]
            graph.node.extend(nodes)
            for value in graph.output:
                value.name = outside.get(value.name, value.name)
    return copy
