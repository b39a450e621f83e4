"""Sequences and optional values, resolved: which tensor an element is follows from the graph.

The machine has tensors only. A sequence whose length and positions are known when compiling is a list of tensors of the
graph, and an optional value is there or is not: operators that make and read them become operators on the tensors. What
depends on a run, and sequences that are inputs or outputs of the model, stay and are refused by name.
"""

import numpy as np
import onnx

from mnc.lowering.onnx_to_graph.graph_rewriter import GraphRewriter
from mnc.lowering.onnx_to_graph.onnx_file import infer_shapes
from mnc.lowering.onnx_to_graph.size_limits import check_node_count

SEQUENCES = frozenset(
    ["ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct",
     "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SplitToSequence"]
)  # fmt: skip


def resolve_sequences(model: onnx.ModelProto, opset: int, file_name: str) -> onnx.ModelProto | None:
    """The model with all sequences of the main graph that can be resolved; None if nothing changed."""
    if not any(node.op_type in SEQUENCES for node in model.graph.node):
        return None
    model = infer_shapes(model, file_name, opset)
    return model if _Resolver(model, opset, file_name).run() else None


class _Resolver(GraphRewriter):
    def __init__(self, model: onnx.ModelProto, opset: int, file_name: str) -> None:
        super().__init__(model, opset, file_name)
        self._lists: dict[str, list[str]] = {}
        self._absent: set[str] = set()  # optional values that are not there

    def run(self) -> bool:
        """Rewrite the graph in place; False if nothing could be done."""
        handlers = {
            "ConcatFromSequence": self._concat, "Identity": self._identity, "Optional": self._optional,
            "OptionalGetElement": self._identity, "OptionalHasElement": self._has_element, "SequenceAt": self._at,
            "SequenceConstruct": self._construct, "SequenceEmpty": self._construct, "SequenceErase": self._erase,
            "SequenceInsert": self._insert, "SequenceLength": self._length, "SplitToSequence": self._split,
        }  # fmt: skip
        changed = self._rewrite(handlers)
        kept = len(self._nodes)
        self._drop_unread()
        if not changed and len(self._nodes) == kept:
            return False
        self._replace_nodes()
        return True

    def _drop_unread(self) -> None:
        """Lists are noted, and their nodes kept for readers that were left as they are; without those they go."""
        read = {value.name for value in self._graph.output}
        kept = []
        for node in reversed(self._nodes):
            makes_list = any(name in self._lists or name in self._absent for name in node.output)
            if makes_list and not read & set(node.output):
                continue
            kept.append(node)
            read.update(_read(node))
        self._nodes = kept[::-1]

    def _position(self, node: onnx.NodeProto, index: int, default: int, count: int, last: int) -> int | None:
        """Place that operand `index` names, counted from the end if negative; None unless known and inside."""
        name = node.input[index] if index < len(node.input) else ""
        value = self._known.get(name) if name else np.array(default)
        if value is None or value.size != 1:
            return None
        place = int(value.reshape(-1)[0])
        place += count if place < 0 else 0
        return place if 0 <= place <= last else None

    def _note(self, node: onnx.NodeProto, values: list[str]) -> bool:
        """A list that a node makes; the node stays until nothing reads it."""
        check_node_count(len(values), "the sequence", self._file_name, node)
        self._lists[node.output[0]] = values
        return False

    def _construct(self, node: onnx.NodeProto) -> bool:
        return self._note(node, list(node.input))

    def _insert(self, node: onnx.NodeProto) -> bool:
        values = self._lists.get(node.input[0])
        place = None if values is None else self._position(node, 2, len(values), len(values), len(values))
        if values is None or place is None:
            return False
        return self._note(node, [*values[:place], node.input[1], *values[place:]])

    def _erase(self, node: onnx.NodeProto) -> bool:
        values = self._lists.get(node.input[0])
        place = None if values is None else self._position(node, 1, len(values) - 1, len(values), len(values) - 1)
        if values is None or place is None:
            return False
        return self._note(node, [*values[:place], *values[place + 1 :]])

    def _at(self, node: onnx.NodeProto) -> bool:
        values = self._lists.get(node.input[0])
        place = None if values is None else self._position(node, 1, 0, len(values), len(values) - 1)
        if values is None or place is None:
            return False
        self._give([node.output[0]], [values[place]])
        return True

    def _length(self, node: onnx.NodeProto) -> bool:
        values = self._lists.get(node.input[0])
        if values is None:
            return False
        self._constant(np.array(len(values), np.int64), node.output[0])
        return True

    def _concat(self, node: onnx.NodeProto) -> bool:
        values = self._lists.get(node.input[0])
        if not values:
            return False
        given = {a.name: a.i for a in node.attribute}
        if given.get("new_axis", 0):
            self._give([node.output[0]], [self._stack(node, values, given["axis"])])
        else:
            self._emit(onnx.helper.make_node("Concat", values, [node.output[0]], axis=given["axis"], name=node.name))
        return True

    def _split(self, node: onnx.NodeProto) -> bool:
        given = {a.name: a.i for a in node.attribute}
        shape, sizes = self._shape(node.input[0]), None
        has_sizes = len(node.input) > 1 and bool(node.input[1])
        if has_sizes:
            sizes = self._known.get(node.input[1])
        if not shape or (has_sizes and sizes is None):
            return False
        axis = given.get("axis", 0) % len(shape)
        extent = shape[axis]
        if sizes is None or sizes.ndim == 0:
            size = 1 if sizes is None else int(sizes)
            parts = [min(size, extent - start) for start in range(0, extent, size)] if size > 0 else []
        else:
            parts = [int(size) for size in sizes]
        if not parts or sum(parts) != extent:
            return False
        check_node_count(len(parts), "the sequence", self._file_name, node)
        values = [self._unique(node.output[0]) for _ in parts]
        self._with_integers("Split", node.input[0], values, "split", parts, node.name, axis=axis)
        if not has_sizes and not given.get("keepdims", 1):
            values = [self._squeezed(node, value, axis) for value in values]
        self._lists[node.output[0]] = values
        self._nodes.append(node)  # until nothing reads it
        return True

    def _squeezed(self, node: onnx.NodeProto, value: str, axis: int) -> str:
        result = self._unique(value)
        self._with_integers("Squeeze", value, [result], "axes", [axis], node.name)
        return result

    def _optional(self, node: onnx.NodeProto) -> bool:
        if not node.input or not node.input[0]:
            self._absent.add(node.output[0])
            return False
        return self._identity(node)

    def _identity(self, node: onnx.NodeProto) -> bool:
        """What hands on a sequence or an optional value."""
        source = node.input[0]
        if source in self._absent:
            self._absent.add(node.output[0])
            return False
        if source in self._lists:
            return self._note(node, self._lists[source])
        if node.op_type == "Identity" or not self._is_tensor(source):
            return False
        self._give([node.output[0]], [source])
        return True

    def _is_tensor(self, name: str) -> bool:
        made = {output for node in self._nodes for output in node.output if node.op_type != "Optional"}
        type_ = self._types.declared.get(name)
        return type_.HasField("tensor_type") if type_ is not None else name in made

    def _has_element(self, node: onnx.NodeProto) -> bool:
        source = node.input[0] if node.input else ""
        is_there = source in self._lists or (bool(source) and source not in self._absent and self._is_tensor(source))
        if not is_there and source and source not in self._absent:
            return False
        self._constant(np.array(is_there), node.output[0])
        return True


def _read(node: onnx.NodeProto) -> set[str]:
    """Values that a node reads, in its subgraphs too."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            names.update(value.name for value in graph.output)
            for inner in graph.node:
                names |= _read(inner)
    return names
