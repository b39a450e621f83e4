"""If, Loop and Scan whose course is known when compiling: the branch taken, or the body once per iteration.

What decides a branch or the number of iterations must follow from initializers and shapes; all else is left as it is,
and refused later by name.
"""

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.lowering.onnx_to_graph.known_values import KnownValues
from mnc.lowering.onnx_to_graph.loaded_model import LoadedModel
from mnc.lowering.onnx_to_graph.onnx_file import infer_shapes
from mnc.lowering.onnx_to_graph.shape_inference import sample_of, static_shape, value_types
from mnc.lowering.onnx_to_graph.size_limits import check_node_count

CONTROL_FLOW = frozenset(["If", "Loop", "Scan"])
_BRANCHES = ("then_branch", "else_branch")
_AXES_ARE_AN_INPUT = 13
"""Operator set since which Unsqueeze takes its axes as an operand."""


def resolve_control_flow(model: onnx.ModelProto, opset: int, file_name: str) -> onnx.ModelProto | None:
    """The model with all control flow of the main graph that can be resolved; None if nothing changed."""
    if not any(node.op_type in CONTROL_FLOW for node in model.graph.node):
        return None
    model = infer_shapes(model, file_name, opset)
    return model if _Resolver(model, opset, file_name).run() else None


class _Resolver:
    def __init__(self, model: onnx.ModelProto, opset: int, file_name: str) -> None:
        self._graph = model.graph
        self._types = value_types(model.graph)
        self._known = KnownValues(LoadedModel(model, file_name, opset), lambda name: sample_of(self._types, name))
        self._file_name = file_name
        self._nodes: list[onnx.NodeProto] = []
        self._opset = opset
        self._count = 0

    def run(self) -> bool:
        """Rewrite the graph in place; False if nothing could be done."""
        handlers = {"If": self._if, "Loop": self._loop, "Scan": self._scan}
        changed = False
        for node in self._graph.node:
            handler = handlers.get(node.op_type) if node.domain in ("", "ai.onnx") else None
            start = len(self._nodes)
            if handler is not None and handler(node):
                changed = True
                continue
            del self._nodes[start:]
            self._nodes.append(node)
        kept = [_renamed(node, {}) for node in self._nodes]  # copies: deleting the nodes ends the life of the old ones
        del self._graph.node[:]
        self._graph.node.extend(kept)
        return changed

    def _shape(self, name: str) -> list[int] | None:
        return static_shape(self._types[name]) if name in self._types else None

    def _emit(self, node: onnx.NodeProto) -> None:
        self._nodes.append(node)
        self._known.add(node)

    def _constant(self, value: np.ndarray, name: str) -> str:
        self._emit(onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(value)))
        return name

    def _unique(self, what: str) -> str:
        self._count += 1
        return f"{what}#{self._count}"

    def _inline(self, owner: onnx.NodeProto, body: onnx.GraphProto, bindings: Mapping[str, str]) -> list[str]:
        """Emit the nodes of `body` under fresh names; returns the names of its outputs.

        `bindings` maps the body's inputs to values of the main graph.
        """
        prefix = self._unique(owner.name or owner.op_type) + "/"
        names = dict(bindings)
        for tensor in body.initializer:
            names[tensor.name] = self._constant(onnx.numpy_helper.to_array(tensor), prefix + tensor.name)
        for node in body.node:
            names.update({output: prefix + output for output in node.output if output})
        for node in body.node:
            renamed = _renamed(node, names)
            renamed.name = prefix + (node.name or node.op_type)
            self._emit(renamed)
        return [names.get(output.name, output.name) for output in body.output]

    def _give(self, outputs: list[str], values: list[str]) -> None:
        """The values under the names of the node's outputs."""
        for output, value in zip(outputs, values, strict=False):
            if output:
                self._emit(onnx.helper.make_node("Identity", [value], [output]))

    def _stack(self, owner: onnx.NodeProto, values: list[str], axis: int) -> str:
        """One value per iteration as one tensor."""
        wide = [self._unique(value) for value in values]
        for value, name in zip(values, wide, strict=True):
            if self._opset >= _AXES_ARE_AN_INPUT:
                axes = self._constant(np.array([axis], np.int64), self._unique("axes"))
                node = onnx.helper.make_node("Unsqueeze", [value, axes], [name], name=f"{owner.name}/stack")
            else:
                node = onnx.helper.make_node("Unsqueeze", [value], [name], name=f"{owner.name}/stack", axes=[axis])
            self._emit(node)
        result = self._unique(owner.name or owner.op_type)
        self._emit(onnx.helper.make_node("Concat", wide, [result], axis=axis, name=f"{owner.name}/stack"))
        return result

    def _if(self, node: onnx.NodeProto) -> bool:
        condition = self._known.get(node.input[0])
        branches = {attribute.name: attribute.g for attribute in node.attribute}
        if condition is not None:
            taken = branches["then_branch" if bool(condition.reshape(())) else "else_branch"]
            self._give(list(node.output), self._inline(node, taken, {}))
            return True
        shapes = [[static_shape(value.type) for value in branches[name].output] for name in _BRANCHES]
        if shapes[0] != shapes[1] or None in shapes[0] or self._shape(node.input[0]) is None:
            return False
        # Operators have no effect but their results: both branches are computed and one is selected.
        scalar = self._constant(np.zeros(0, np.int64), self._unique("scalar"))
        flag = self._unique(node.input[0])
        self._emit(onnx.helper.make_node("Reshape", [node.input[0], scalar], [flag], name=node.name))
        results = [self._inline(node, branches[name], {}) for name in _BRANCHES]
        for output, then, other in zip(node.output, *results, strict=True):
            self._emit(onnx.helper.make_node("Where", [flag, then, other], [output], name=node.name))
        return True

    def _loop(self, node: onnx.NodeProto) -> bool:
        body = node.attribute[0].g
        limit = self._known.get(node.input[0]) if node.input[0] else np.array(np.iinfo(np.int64).max)
        name = node.input[1] if len(node.input) > 1 else ""
        condition = self._known.get(name) if name else np.array(True)
        if limit is None or condition is None or (not node.input[0] and not name):
            return False
        name = name or self._constant(np.array(True), self._unique("condition"))
        carried = list(node.input[2:])
        columns: list[list[str]] = [[] for _ in body.output[1 + len(carried) :]]
        if _goes_on(body):
            least = int(limit.reshape(())) * len(body.node)
            check_node_count(least, f"the loop of {limit} iterations", self._file_name, node)
        number = 0
        while number < int(limit.reshape(())) and bool(condition.reshape(())):
            count = self._constant(np.array(number, np.int64), self._unique("iteration"))
            bound = [count, name, *carried]
            outputs = self._inline(node, body, {v.name: b for v, b in zip(body.input, bound, strict=True)})
            name, carried = outputs[0], outputs[1 : 1 + len(carried)]
            for column, value in zip(columns, outputs[1 + len(carried) :], strict=True):
                column.append(value)
            condition = self._known.get(name)
            if condition is None:
                return False
            number += 1
            check_node_count(len(self._nodes), f"the loop, after {number} iterations,", self._file_name, node)
        return self._finish(node, carried, columns, [0] * len(columns))

    def _scan(self, node: onnx.NodeProto) -> bool:
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        body, inputs = given["body"], given["num_scan_inputs"]
        states = len(node.input) - inputs
        if len(body.input) != len(node.input):  # version 8, with a batch dimension
            return False
        scanned, carried = list(node.input[states:]), list(node.input[:states])
        shapes = [shape for name in scanned if (shape := self._shape(name)) is not None]
        if len(shapes) < inputs:
            return False
        axes = [axis % len(s) for axis, s in zip(given.get("scan_input_axes", [0] * inputs), shapes, strict=True)]
        backward = given.get("scan_input_directions", [0] * inputs)
        outputs_backward = given.get("scan_output_directions", [0] * (len(body.output) - states))
        length = shapes[0][axes[0]]
        columns: list[list[str]] = [[] for _ in body.output[states:]]
        for number in range(length):
            check_node_count(len(self._nodes), f"the scan, after {number} iterations,", self._file_name, node)
            slices = [
                self._take(node, name, length - 1 - number if back else number, axis)
                for name, axis, back in zip(scanned, axes, backward, strict=True)
            ]
            bindings = {v.name: b for v, b in zip(body.input, [*carried, *slices], strict=True)}
            outputs = self._inline(node, body, bindings)
            carried = outputs[:states]
            for column, value in zip(columns, outputs[states:], strict=True):
                column.append(value)
        columns = [c[::-1] if back else c for c, back in zip(columns, outputs_backward, strict=True)]
        return self._finish(node, carried, columns, given.get("scan_output_axes", [0] * len(columns)))

    def _take(self, owner: onnx.NodeProto, name: str, index: int, axis: int) -> str:
        """Element `index` along `axis`."""
        place = self._constant(np.array(index, np.int64), self._unique("index"))
        result = self._unique(name)
        self._emit(onnx.helper.make_node("Gather", [name, place], [result], axis=axis, name=f"{owner.name}/slice"))
        return result

    def _finish(self, node: onnx.NodeProto, carried: list[str], columns: list[list[str]], axes: list[int]) -> bool:
        """Results of a loop: the last values that were carried, and what every iteration gave."""
        if any(not column for column in columns):
            return False  # no iteration, and so no element type
        stacked = [self._stack(node, column, axis) for column, axis in zip(columns, axes, strict=True)]
        self._give(list(node.output), [*carried, *stacked])
        return True


def _goes_on(body: onnx.GraphProto) -> bool:
    """Whether the body of a loop hands on the condition that it is given."""
    copied = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}
    name = body.output[0].name
    for _ in range(len(copied)):
        name = copied.get(name, name)
    return name == body.input[1].name


def _renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """A copy with its values renamed, those that its subgraphs take from outside included."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for field in (copy.input, copy.output):
        field[:] = [names.get(name, name) for name in field]
    for attribute in copy.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            inner = {t.name for t in graph.initializer} | {v.name for v in graph.input}
            outside = {name: new for name, new in names.items() if name not in inner}
            nodes = [_renamed(entry, outside) for entry in graph.node]
            del graph.node[:]
            graph.node.extend(nodes)
            for value in graph.output:
                value.name = outside.get(value.name, value.name)
    return copy
