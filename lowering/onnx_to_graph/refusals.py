"""Everything in a model that the importer refuses, not only the first."""

import os
from dataclasses import dataclass, field
from typing import Any

import onnx

from mnc.core.bindings import ir
from mnc.core.context import onnx_location
from mnc.core.diagnostics import CompileError
from mnc.core.sequences import Shapes
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.element_types import held_type
from mnc.lowering.onnx_to_graph.importer import ENTRY, GraphImporter
from mnc.lowering.onnx_to_graph.input_shapes import OpenExtentsError
from mnc.lowering.onnx_to_graph.onnx_file import LoadedModel, load_model, read_proto
from mnc.lowering.onnx_to_graph.support import expand_functions
from mnc.lowering.onnx_to_graph.unknown_operators import refused_operators


@dataclass
class Refusals:
    """What is refused, in the order of the graph; `unjudged` are nodes that read what nobody knows the type of.
    `module` is the graph where nothing is refused. `only_operators`: extents are open, so that nothing else of nodes
    was judged than whether there is such an operator."""

    nodes: int = 0
    refused: list[CompileError] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    module: ir.Module | None = None
    only_operators: bool = False


def find_refusals(
    model: str | os.PathLike[str] | onnx.ModelProto,
    context: ir.Context,
    shapes: Shapes | None = None,
) -> Refusals:
    """Import a model as far as possible. Where a node is refused, its results are taken to be as ONNX infers them.

    What concerns the whole model is the only refusal, and `nodes` is 0. Open extents are the first refusal, before
    those of operators.
    """
    found = Refusals()
    try:
        loaded = load_model(model, shapes, None, None, expand_functions)
        with context, onnx_location(loaded.graph.name or ENTRY, loaded.file_name):
            found.nodes = len(loaded.graph.node)
            found.module = _Collector(loaded, found).run()
    except OpenExtentsError as error:
        proto = model if isinstance(model, onnx.ModelProto) else read_proto(model)
        found.nodes, refused = refused_operators(proto, str(error.location))
        found.refused, found.only_operators = [error, *refused], True
    except CompileError as error:
        if not found.refused:  # else it is a consequence
            found.refused.append(error)
    if found.refused:
        found.module = None
    return found


class _Collector(GraphImporter):
    """Goes on where a node is refused."""

    def __init__(self, model: LoadedModel, found: Refusals) -> None:
        super().__init__(model)
        self._found = found
        self._unknown: set[str] = set()

    def _import_node(self, proto: onnx.NodeProto, index: int) -> None:
        if self._unknown & set(proto.input):
            self._found.unjudged.append(proto.name or f"{proto.op_type}_{index}")
            self._unknown.update(proto.output)
            return
        try:
            super()._import_node(proto, index)
        except CompileError as error:
            self._found.refused.append(error)
            for output in filter(None, proto.output):
                if output not in self._values and not self._stand_in(output):
                    self._unknown.add(output)

    def _stand_in(self, name: str) -> bool:
        """A value of the type that ONNX infers, from nowhere."""
        declared = self._declared.get(name)
        dims = declared.type.tensor_type.shape.dim if declared is not None else []
        if declared is None or not all(dim.HasField("dim_value") for dim in dims):
            return False
        try:
            element = held_type(declared.type.tensor_type.elem_type)
        except (ValueError, KeyError):
            return False
        block: Any = ir.InsertionPoint.current.block
        type_ = graph.tensor([dim.dim_value for dim in dims], element)
        self._values[name] = block.add_argument(type_, ir.Location.unknown())
        return True

    def _verified(self, module: ir.Module) -> ir.Module:
        return module if self._found.refused else super()._verified(module)

    def _result(self, name: str) -> Any:
        if name in self._unknown:
            raise CompileError(f"output '{name}' has no known type", location=self._model.file_name)
        return super()._result(name)
