"""The graph after its passes as an ONNX file for viewers such as Netron.

Operators are those of the graph dialect, in a domain of their own: such a file is for looking at, not for running.
Constants above `LARGEST` elements are left out; their type remains.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError, node_name
from mnc.dialects import graph
from mnc.dialects.graph.attributes import to_numpy
from mnc.lowering.onnx_to_graph.unsupported_hints import VIEWER_DOMAIN as DOMAIN
from mnc.options import Options

LARGEST = 1 << 16


def graph_model(model: Any, options: Options) -> onnx.ModelProto:
    """The graph of a model after the passes of the stage "graph". Raises CompileError."""
    from mnc.core.context import make_context
    from mnc.lowering.onnx_to_graph.importer import import_model
    from mnc.stages import stage_pipeline

    module = import_model(model, make_context(), shapes=options.shapes)
    stage_pipeline("graph", options).run(module)
    with module.context:
        return _Exporter(module.body.operations[0]).run()


def write_graph(path: Path, model: Any, options: Options) -> None:
    """Write the file; raises CompileError."""
    made = graph_model(model, options)
    try:
        onnx.save(made, path)
    except OSError as error:
        raise CompileError(f"cannot write {path}: {error.strerror}", hint="choose another file") from None


class _Exporter:
    def __init__(self, function: Any) -> None:
        self._function = function
        self._names: dict[Any, str] = {}
        self._types: list[onnx.ValueInfoProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._nodes: list[onnx.NodeProto] = []

    def run(self) -> onnx.ModelProto:
        block = self._function.regions[0].blocks[0]
        given = _attribute_names(self._function, "arg_attrs")
        for argument, name in zip(block.arguments, given, strict=False):
            self._names[argument] = name
        inputs = [self._type(argument) for argument in block.arguments]
        operations = [op.operation for op in block.operations]
        for number, op in enumerate(operations[:-1]):
            self._add(op, number)
        results = list(operations[-1].operands)
        nodes, outputs = self._nodes, []
        for value, name in zip(results, _attribute_names(self._function, "res_attrs"), strict=False):
            nodes.append(helper.make_node("output", [self._names[value]], [name], domain=DOMAIN))
            outputs.append(self._type(value, name))
        made = helper.make_graph(nodes, "graph", inputs, outputs, self._weights, value_info=self._types)
        return helper.make_model(made, opset_imports=[helper.make_opsetid(DOMAIN, 1)], ir_version=10)

    def _type(self, value: Any, name: str = "") -> onnx.ValueInfoProto:
        type_ = ir.RankedTensorType(value.type)
        element = helper.np_dtype_to_tensor_dtype(np.dtype(graph.numpy_dtype(type_.element_type)))
        return helper.make_tensor_value_info(name or self._names[value], element, list(type_.shape))

    def _add(self, op: Any, number: int) -> None:
        where = node_name(op.location) or op.name.removeprefix("graph.")
        names = [f"{where}_{number}" + (f"_{i}" if i else "") for i in range(len(op.results))]
        for value, name in zip(op.results, names, strict=True):
            self._names[value] = name
            self._types.append(self._type(value))
        if op.name == "graph.constant":
            self._constant(op, names[0])
            return
        attributes = {entry: str(op.attributes[entry]) for entry in _keys(op)}
        sources = [self._names[value] for value in op.operands]
        kind = op.name.removeprefix("graph.")
        self._nodes.append(helper.make_node(kind, sources, names, name=where, domain=DOMAIN, **attributes))

    def _constant(self, op: Any, name: str) -> None:
        value = to_numpy(op.attributes["value"])
        if value.size <= LARGEST:
            self._weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        else:
            self._nodes.append(helper.make_node("constant", [], [name], name=name, domain=DOMAIN))


def _keys(op: Any) -> list[str]:
    return [entry if isinstance(entry, str) else entry.name for entry in op.attributes]


def _attribute_names(function: Any, key: str) -> list[str]:
    attributes = function.attributes.get(key)
    if attributes is None:
        return []
    return [ir.StringAttr(ir.DictAttr(own)["onnx.name"]).value for own in ir.ArrayAttr(attributes)]
