"""From a graph of ATen calls to ONNX."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch
from onnx import helper
from torch import fx

from mnc.core.diagnostics import CompileError
from mnc.torch.call import Call, Result
from mnc.torch.module_paths import described, path_of
from mnc.torch.onnx_writer import OnnxWriter
from mnc.torch.operators import find_handler
from mnc.torch.operators.hints import NO_RANDOM

_STEPS = "write a loop in Python, of as many steps as there are at most"
_WITHOUT_FUNCTIONS = {
    "flex_attention": "use torch.nn.functional.scaled_dot_product_attention, with a mask or a bias",
    "while_loop": f"{_STEPS}, and keep the values of those that are too many with torch.where",
    "scan": _STEPS,
}
"""Operator that takes functions -> what to write instead."""


@dataclass(frozen=True)
class Traced:
    """A captured function with the names of what goes in and out.

    Attributes:
        graph: the calls.
        inputs: a name for every placeholder.
        outputs: a name for every result.
        constants: values of placeholders that are part of the model.
    """

    graph: fx.GraphModule
    inputs: Sequence[str]
    outputs: Sequence[str]
    constants: dict[str, torch.Tensor] = field(default_factory=dict)


def to_onnx(traced: Traced, name: str, wanted: Sequence[str], double: bool = False) -> onnx.ModelProto:
    """Write the outputs `wanted` of a trace as an ONNX model.

    Args:
        name: of the graph.
        double: with float64 in place of float32, for proofs.

    Raises:
        CompileError: an operator without a row in the table; names the module it comes from.
    """
    return _Translation(traced, double).run(name, wanted)


class _Translation:
    """State of one translation."""

    def __init__(self, traced: Traced, double: bool) -> None:
        self._traced = traced
        self._writer = OnnxWriter(double)
        self._values: dict[fx.Node, Result] = {}
        self._places = [node for node in traced.graph.graph.nodes if node.op == "placeholder"]

    def run(self, name: str, wanted: Sequence[str]) -> onnx.ModelProto:
        """The model."""
        for label in (*self._traced.inputs, *self._traced.outputs):
            self._writer.unique(label)  # no other value may take the names of inputs and outputs
        inputs = self._inputs()
        for node in self._traced.graph.graph.nodes:
            if node.op == "call_function":
                self._call(node)
            elif node.op == "get_attr":
                self._values[node] = self._attribute(node)
        return _name_results(self._writer.model(name, inputs, self._outputs(wanted)))

    def _inputs(self) -> list[onnx.ValueInfoProto]:
        infos = []
        for label, node in zip(self._traced.inputs, self._places, strict=True):
            self._values[node] = label
            if label in self._traced.constants:
                value = self._traced.constants[label]
                self._values[node] = self._writer.constant(value.numpy(), value.dtype, label)
            else:
                infos.append(self._info(label, node))
        return infos

    def _info(self, label: str, node: fx.Node) -> onnx.ValueInfoProto:
        value = node.meta["val"]
        element = self._writer.element_type(value.dtype)
        if element is None:
            hint = "use float32 modules and samples, integers or booleans"
            raise CompileError(f"'{label}' has element type {value.dtype}, which is not supported", hint=hint)
        return helper.make_tensor_value_info(label, element, list(value.shape))

    def _attribute(self, node: fx.Node) -> str:
        value = getattr(self._traced.graph, str(node.target))
        if isinstance(value, torch.nn.Module):
            name = next((str(user.target) for user in node.users), "torch.cond")
            hint = _WITHOUT_FUNCTIONS.get(name, "compute all of them, and choose with torch.where")
            raise CompileError(f"it has an operator on functions, {name}{described(node)}", hint=hint)
        if isinstance(value, torch.Generator):
            message = f"it draws random numbers with a generator{described(node)}"
            raise CompileError(message, hint=NO_RANDOM)
        return self._writer.constant(value.detach().numpy(), value.dtype)

    def _call(self, node: fx.Node) -> None:
        if node.target is operator.getitem:
            self._values[node] = self._item(node)
            return
        path = path_of(node)
        self._writer.prefix = path[0] if path else ""
        handler = find_handler(node)
        self._values[node] = handler(Call(node, self._writer, self._values))

    def _item(self, node: fx.Node) -> str:
        source: Any = node.args[0]
        found = self._values[source][node.args[1]]  # pyright: ignore
        if found is None:
            message = f"result {node.args[1]} of this operator is not supported{described(node)}"
            raise CompileError(message, op_type=str(source.target), hint="use only the first result")
        return found

    def _outputs(self, wanted: Sequence[str]) -> list[onnx.ValueInfoProto]:
        """The results under their names, which a last Identity gives them."""
        (output,) = [node for node in self._traced.graph.graph.nodes if node.op == "output"]
        infos = []
        for label, node in zip(self._traced.outputs, output.args[0], strict=True):
            if label in wanted:
                value = self._values[node]
                assert isinstance(value, str)  # functions under capture return tensors
                self._writer.nodes.append(helper.make_node("Identity", [value], [label], name=label))
                infos.append(self._info(label, node))
        return infos


def _name_results(model: onnx.ModelProto) -> onnx.ModelProto:
    """Let nodes that compute outputs use the outputs' names; an Identity stays where a value has two of them."""
    graph = model.graph
    producers = {name: node for node in graph.node for name in node.output}
    names: dict[str, str] = {}
    for node in graph.node:
        source = node.input[0] if node.op_type == "Identity" else ""
        if source in producers and producers[source].op_type != "Identity" and source not in names:
            names[source] = node.output[0]
    kept = [n for n in graph.node if not (n.op_type == "Identity" and names.get(n.input[0]) == n.output[0])]
    for node in kept:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    del graph.node[:]
    graph.node.extend(kept)
    return model
