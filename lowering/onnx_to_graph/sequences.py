"""Sequences and optional values, resolved: which tensor an element is follows from the graph.

The machine has tensors only. A sequence whose length and positions are known when compiling is a list of tensors of the
graph, and an optional value is there or is not: operators that make and read them become operators on the tensors, and
outputs of the model that are sequences become outputs for their elements (`sequence_inputs` does it for inputs). What
depends on a run stays and is refused by name.
"""

import numpy as np
import onnx

from mnc.core.sequences import HostSequence, element_name
from mnc.lowering.onnx_to_graph.graph_rewriter import GraphRewriter
from mnc.lowering.onnx_to_graph.onnx_file import infer_shapes
from mnc.lowering.onnx_to_graph.sequence_inputs import ListType, list_type, taken_name
from mnc.lowering.onnx_to_graph.size_limits import check_node_count

SEQUENCES = frozenset(
    ["ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct",
     "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SplitToSequence"]
)  # fmt: skip
LISTS = frozenset(["Optional", "SequenceConstruct", "SequenceEmpty"])
"""What says which tensors there are: nothing is to be done for it."""


def resolve_sequences(
    model: onnx.ModelProto, opset: int, file_name: str, outputs: list[HostSequence]
) -> onnx.ModelProto | None:
    """The model with all sequences of the main graph that can be resolved; None if nothing changed. `outputs` gets
    those that were outputs of the model."""
    if not any(node.op_type in SEQUENCES for node in model.graph.node):
        return None
    model = infer_shapes(model, file_name, opset)
    resolver = _Resolver(model, opset, file_name)
    if not resolver.run():
        return None
    outputs += resolver.host_outputs
    return model


class _Resolver(GraphRewriter):
    def __init__(self, model: onnx.ModelProto, opset: int, file_name: str) -> None:
        super().__init__(model, opset, file_name)
        self._lists: dict[str, list[str]] = {}
        self._present: dict[str, str] = {}  # optional tensors that are there
        self._absent: set[str] = set()  # optional values that are not there
        self.host_outputs: list[HostSequence] = []

    def run(self) -> bool:
        """Rewrite the graph in place; False if nothing could be done."""
        handlers = {
            "ConcatFromSequence": self._concat, "Identity": self._identity, "Optional": self._optional,
            "OptionalGetElement": self._get_element, "OptionalHasElement": self._has_element, "SequenceAt": self._at,
            "SequenceConstruct": self._construct, "SequenceEmpty": self._construct, "SequenceErase": self._erase,
            "SequenceInsert": self._insert, "SequenceLength": self._length, "SplitToSequence": self._split,
        }  # fmt: skip
        changed = self._rewrite(handlers)
        changed |= self._split_outputs()
        changed |= self._drop_unread()
        if changed:
            self._replace_nodes()
        return changed

    def _split_outputs(self) -> bool:
        """Outputs for the elements of sequences that are outputs, and none for what is not there; False if there are
        no such outputs."""
        kept: list[onnx.ValueInfoProto] = []
        for value in self._graph.output:
            kind = list_type(value.type)
            if kind is None or value.name not in self._lists | self._present | dict.fromkeys(self._absent):
                copy = onnx.ValueInfoProto()
                copy.CopyFrom(value)
                kept.append(copy)
            elif value.name in self._present:
                kept.append(self._output(value.name, self._present[value.name], kind))
            else:
                kept += self._element_outputs(value.name, kind)
        if not self.host_outputs and not self._present.keys() & self._outputs:
            return False
        del self._graph.output[:]
        self._graph.output.extend(kept)
        return True

    def _element_outputs(self, name: str, kind: ListType) -> list[onnx.ValueInfoProto]:
        """The elements of an output, each of the type that the model declares for all of them but for its shape."""
        if name in self._absent:
            self._add_output(HostSequence(name, "output", None))
            return []
        elements = {element_name(name, i): own for i, own in enumerate(self._lists[name])}
        for element, own in elements.items():
            if own != element and (element in self._taken or element in self._outputs):
                raise taken_name(name, element, self._file_name)
        self._add_output(HostSequence(name, "output", tuple(elements)))
        return [self._output(element, own, kind) for element, own in elements.items()]

    def _add_output(self, sequence: HostSequence) -> None:
        if sequence not in self.host_outputs:  # one may be an output twice
            self.host_outputs.append(sequence)

    def _output(self, name: str, value: str, kind: ListType) -> onnx.ValueInfoProto:
        """An output of the model that is a tensor. Declared shapes are left out: some are those of one element."""
        if value != name:
            self._nodes = [node for node in self._nodes if name not in node.output]
            self._emit(onnx.helper.make_node("Identity", [value], [name]))
        return onnx.helper.make_tensor_value_info(name, kind.tensor.tensor_type.elem_type, None)

    def _drop_unread(self) -> bool:
        """Lists are noted, and their nodes kept for readers that were left as they are; without those they go. What
        stays says its elements: only what could not be resolved is to be refused. False if nothing changed."""
        read = {value.name for value in self._graph.output}
        kept: list[onnx.NodeProto] = []
        changed = False
        for node in reversed(self._nodes):
            makes_list = any(name in own for own in (self._lists, self._present, self._absent) for name in node.output)
            if makes_list and not read & set(node.output):
                changed = True
                continue
            values = self._lists.get(node.output[0]) if makes_list else None
            if values and node.op_type not in LISTS:
                changed = True
                node = onnx.helper.make_node("SequenceConstruct", values, [node.output[0]], name=node.name)
            kept.append(node)
            read.update(_read(node))
        self._nodes = kept[::-1]
        return changed

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
        elif node.input[0] not in self._lists and self._is_tensor(node.input[0]):
            self._present[node.output[0]] = node.input[0]
        else:
            return self._identity(node)
        return False

    def _identity(self, node: onnx.NodeProto) -> bool:
        """What hands on a sequence or an optional value; its node stays until nothing reads it."""
        source, result = node.input[0], node.output[0]
        if source in self._absent:
            self._absent.add(result)
        elif source in self._present:
            self._present[result] = self._present[source]
        elif source in self._lists:
            return self._note(node, self._lists[source])
        return False

    def _get_element(self, node: onnx.NodeProto) -> bool:
        """The value of an optional one, or since operator set 18 what is there in any case."""
        source = self._present.get(node.input[0], node.input[0])
        if source in self._lists:
            return self._note(node, self._lists[source])
        if source in self._absent or not self._is_tensor(source):
            return False
        self._give([node.output[0]], [source])
        return True

    def _is_tensor(self, name: str) -> bool:
        made = {output for node in self._nodes for output in node.output if node.op_type != "Optional"}
        type_ = self._types.declared.get(name)
        return type_.HasField("tensor_type") if type_ is not None else name in made

    def _has_element(self, node: onnx.NodeProto) -> bool:
        source = node.input[0] if node.input else ""
        type_ = self._types.declared.get(source)
        is_sequence = source in self._lists or (type_ is not None and type_.HasField("sequence_type"))
        is_absent = not source or source in self._absent
        if not is_absent and not is_sequence and source not in self._present and not self._is_tensor(source):
            return False
        self._constant(np.array(not is_absent), node.output[0])
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
