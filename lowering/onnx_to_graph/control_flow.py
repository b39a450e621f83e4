"""If, Loop and Scan whose course is known when compiling: the branch taken, or the body once per iteration.

What decides a branch or the number of iterations follows from initializers and shapes. If a run finds a condition, both
branches, or as many iterations as there may be, are computed, and one result is selected. All else is left as it is,
and refused later by name.
"""

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.lowering.onnx_to_graph.graph_rewriter import GraphRewriter, renamed
from mnc.lowering.onnx_to_graph.onnx_file import infer_shapes
from mnc.lowering.onnx_to_graph.shape_inference import sample_of
from mnc.lowering.onnx_to_graph.size_limits import MOST_UNROLLED, check_node_count
from mnc.lowering.onnx_to_graph.types_left_out import static_shape

CONTROL_FLOW = frozenset(["If", "Loop", "Scan"])
_BRANCHES = ("then_branch", "else_branch")


def resolve_control_flow(
    model: onnx.ModelProto, opset: int, file_name: str, *, select: bool = True
) -> onnx.ModelProto | None:
    """The model with all control flow of the main graph that can be resolved; None if nothing changed.

    Args:
        select: compute both branches of an If whose condition is not known. What it hangs on may be known later, and
            the other branch may read what is not there.
    """
    if not any(node.op_type in CONTROL_FLOW for node in model.graph.node):
        return None
    model = infer_shapes(model, file_name, opset)
    return model if _Resolver(model, opset, file_name, select).run() else None


class _Resolver(GraphRewriter):
    def __init__(self, model: onnx.ModelProto, opset: int, file_name: str, select: bool) -> None:
        super().__init__(model, opset, file_name)
        self._selects = select

    def run(self) -> bool:
        """Rewrite the graph in place; False if nothing could be done."""
        changed = self._rewrite({"If": self._if, "Loop": self._loop, "Scan": self._scan})
        self._replace_nodes()
        return changed

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
            copy = renamed(node, names)
            copy.name = prefix + (node.name or node.op_type)
            if not (self._selects and copy.op_type == "If" and self._try_if(copy)):
                self._emit(copy)
        return [names.get(output.name, output.name) for output in body.output]

    def _try_if(self, node: onnx.NodeProto) -> bool:
        """An If of a branch, on whose shape that of the branch hangs."""
        start = len(self._nodes)
        if self._if(node):
            return True
        del self._nodes[start:]
        return False

    def _if(self, node: onnx.NodeProto) -> bool:
        condition = self._known.get(node.input[0])
        branches = {attribute.name: attribute.g for attribute in node.attribute}
        if condition is not None:
            taken = branches["then_branch" if bool(condition.reshape(())) else "else_branch"]
            self._give(list(node.output), self._inline(node, taken, {}))
            return True
        if not self._selects or self._sample(node.input[0]) is None:
            return False
        # Operators have no effect but their results: both branches are computed and one is selected.
        flag = self._flag(node, node.input[0])
        results = [self._inline(node, branches[name], {}) for name in _BRANCHES]
        declared = [[static_shape(value.type) for value in branches[name].output] for name in _BRANCHES]
        shapes = [list(map(self._found_shape, *pair)) for pair in zip(results, declared, strict=True)]
        if shapes[0] != shapes[1] or None in shapes[0]:
            return False
        for output, then, other in zip(node.output, *results, strict=True):
            self._emit(onnx.helper.make_node("Where", [flag, then, other], [output], name=node.name))
        return True

    def _flag(self, owner: onnx.NodeProto, name: str) -> str:
        """A condition, which may be a tensor of one element, as a scalar."""
        scalar = self._constant(np.zeros(0, np.int64), self._unique("scalar"))
        flag = self._unique(name)
        self._emit(onnx.helper.make_node("Reshape", [name, scalar], [flag], name=owner.name))
        return flag

    def _found_shape(self, name: str, declared: list[int] | None) -> list[int] | None:
        """The shape that a result of a branch is declared with, or that follows from its operands."""
        type_ = self._types.get(name) if declared is None else None
        return declared if type_ is None else static_shape(type_)

    def _loop(self, node: onnx.NodeProto) -> bool:
        body = node.attribute[0].g
        limit = self._known.get(node.input[0]) if node.input[0] else np.array(np.iinfo(np.int64).max)
        name = node.input[1] if len(node.input) > 1 else ""
        condition = self._known.get(name) if name else np.array(True)
        if limit is None or (not node.input[0] and not name):
            return False
        if condition is None:
            return self._selected_loop(node, range(int(limit.reshape(()))), name, list(node.input[2:]))
        name = name or self._constant(np.array(True), self._unique("condition"))
        carried = list(node.input[2:])
        columns: list[list[str]] = [[] for _ in body.output[1 + len(carried) :]]
        if _goes_on(body) and bool(condition.reshape(())):
            least = int(limit.reshape(())) * len(body.node)
            count = f"the loop of {limit} iterations" if node.input[0] else "the loop without an end"
            check_node_count(least, count, self._file_name, node)
        number = 0
        while number < int(limit.reshape(())) and bool(condition.reshape(())):
            count = self._constant(np.array(number, np.int64), self._unique("iteration"))
            bound = [count, name, *carried]
            outputs = self._inline(node, body, {v.name: b for v, b in zip(body.input, bound, strict=True)})
            name, carried = outputs[0], outputs[1 : 1 + len(carried)]
            for column, value in zip(columns, outputs[1 + len(carried) :], strict=True):
                column.append(value)
            condition = self._known.get(name)
            number += 1
            if condition is None:
                return self._selected_loop(node, range(number, int(limit.reshape(()))), name, carried)
            check_node_count(len(self._nodes), f"the loop, after {number} iterations,", self._file_name, node)
        return self._finish(node, carried, columns, [0] * len(columns))

    def _selected_loop(self, node: onnx.NodeProto, left: range, name: str, carried: list[str]) -> bool:
        """What is left of a Loop whose condition a run finds: all iterations that there may be are computed, and what
        they give is kept as long as the condition holds. Results of every iteration, of which there would be as many,
        are not given so."""
        body = node.attribute[0].g
        is_short = len(left) * len(body.node) <= MOST_UNROLLED
        if not self._selects or not is_short or len(body.output) > 1 + len(carried):
            return False
        goes_on = self._flag(node, name)
        for number in left:
            count = self._constant(np.array(number, np.int64), self._unique("iteration"))
            bound = [count, goes_on, *carried]
            name, *results = self._inline(node, body, {v.name: b for v, b in zip(body.input, bound, strict=True)})
            shapes = [[self._found_shape(value, None) for value in values] for values in (carried, results)]
            if shapes[0] != shapes[1] or None in shapes[0]:
                return False
            kept = [self._unique(value) for value in results]
            for new, old, result in zip(results, carried, kept, strict=True):
                self._emit(onnx.helper.make_node("Where", [goes_on, new, old], [result], name=node.name))
            carried, both = kept, self._unique("condition")
            self._emit(onnx.helper.make_node("And", [goes_on, self._flag(node, name)], [both], name=node.name))
            goes_on = both
        return self._finish(node, carried, [], [])

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
        stacked = []
        for number, (column, axis) in enumerate(zip(columns, axes, strict=True)):
            found = self._stack(node, column, axis) if column else self._nothing(node, len(carried) + number, axis)
            if found is None:
                return False
            stacked.append(found)
        self._give(list(node.output), [*carried, *stacked])
        return True

    def _nothing(self, node: onnx.NodeProto, number: int, axis: int) -> str | None:
        """What no iteration gives, as the body declares it; None where it says no shape."""
        body = next(a.g for a in node.attribute if a.name == "body")
        declared = body.output[number + (node.op_type == "Loop")]
        one = sample_of({declared.name: declared.type}, declared.name)
        if one is None:
            return None
        shape = list(one.shape)
        shape.insert(axis % (len(shape) + 1), 0)
        return self._constant(np.zeros(shape, one.dtype), self._unique(declared.name))


def _goes_on(body: onnx.GraphProto) -> bool:
    """Whether the body of a loop hands on the condition that it is given."""
    copied = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}
    name = body.output[0].name
    for _ in range(len(copied)):
        name = copied.get(name, name)
    return name == body.input[1].name
