"""Walks an ONNX graph and builds the same computation in the graph dialect."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from mnc.core import events
from mnc.core.bindings import func, ir
from mnc.core.context import make_context, onnx_location
from mnc.core.diagnostics import CompileError, InternalError
from mnc.dialects import graph
from mnc.dialects.graph.run_time_extents import note_extents
from mnc.dialects.graph.sequences import note_sequences
from mnc.lowering.onnx_to_graph.element_types import held, held_type
from mnc.lowering.onnx_to_graph.extent_rules import is_concerned, with_extents
from mnc.lowering.onnx_to_graph.extents.lengths import counted, followed
from mnc.lowering.onnx_to_graph.import_arguments import check_import, given_shapes
from mnc.lowering.onnx_to_graph.known_values import KnownValues
from mnc.lowering.onnx_to_graph.node import Node, element_type_of, shape_of
from mnc.lowering.onnx_to_graph.node_checks import check_node
from mnc.lowering.onnx_to_graph.onnx_file import LoadedModel, load_model
from mnc.lowering.onnx_to_graph.operator_entry import Operator
from mnc.lowering.onnx_to_graph.run_time_extents import COUNTING, Extents, result_extents
from mnc.lowering.onnx_to_graph.sequences import LISTS
from mnc.lowering.onnx_to_graph.support import (
    OPERATORS,
    expand_functions,
    find_operator,
    operator_version,
)
from mnc.lowering.onnx_to_graph.type_checks import check_types
from mnc.lowering.onnx_to_graph.unsupported_hints import KINDS, STRINGS, unsupported_hint
from mnc.lowering.onnx_to_graph.updates import declared_updates, note_updates, refuse_open_updates

ENTRY = "main"


def import_model(
    path_or_model: str | os.PathLike[str] | onnx.ModelProto,
    context: ir.Context | None = None,
    shapes: Mapping[str, Any] | None = None,
    file_name: str | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    updates: Mapping[str, str] | None = None,
    *,
    with_declared_updates: bool = False,
) -> ir.Module:
    """Import an ONNX model.

    Args:
        path_or_model: a file, or a model in memory, which is not changed.
        context: a context with the graph dialect loaded; default a new one.
        shapes: as `mnc.Options` takes them, for inputs that have dynamic extents.
        constants: values of inputs that are fixed when compiling; these are no arguments any more.
        file_name: how messages and locations call the model; default the path.
        updates: input -> output that is its value in the next run; noted on the arguments as ``mnc.updated``.
        with_declared_updates: note what the model declares (`declare_updates`), too; `updates` come first.

    Returns:
        A module with ``func.func @main``; its arguments and results carry ``onnx.name``, and so do
        the ``graph.constant`` operations of initializers. ``mnc.sequences`` of the module says which of them are
        elements of a sequence of the model. Every operation has the location of its
        node. Operations that only computed shapes are left out.

    Raises:
        CompileError: the file or model is unusable, has dynamic extents, or needs what is not supported; or it has no
            such inputs and outputs as `updates` names.
    """
    check_import(context, constants, updates)
    name = None if file_name is None else str(file_name)
    model = load_model(path_or_model, given_shapes(shapes), name, constants, expand_functions)
    with context or make_context(), onnx_location(model.graph.name or ENTRY, model.file_name):
        module = GraphImporter(model).run()
        declared = declared_updates(model.proto) if with_declared_updates else {}
        known = {**declared, **(updates or {})}
        refuse_open_updates(module, known)
        note_updates(module.body.operations[0].operation, known)
        return module


class GraphImporter:
    """State of one import: the MLIR value of each ONNX name."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self._graph = model.graph
        self._values: dict[str, Any] = {}
        imports = {entry.domain: entry.version for entry in model.proto.opset_import}
        self._opsets = {**imports, "": model.opset}
        self._known = KnownValues(model, self._sample)
        values = (*self._graph.input, *self._graph.value_info, *self._graph.output)
        self._declared = {value.name: value for value in values}
        self._extents: dict[str, Extents] = {}
        self._lengths: dict[str, Sequence[Any]] = {}
        self._counted: dict[Any, tuple[list[Any], dict[int, Extents]]] = {}

    def _sample(self, name: str) -> np.ndarray | None:
        """Zeros of the type of `name`, without storage of their own; None before it is imported, and where a run finds
        an extent."""
        if name in self._extents or (name not in self._values and self._known.get(name) is None):
            return None
        value, kind = self._operand(name), self._onnx_type(name)
        own = onnx.helper.tensor_dtype_to_np_dtype(kind) if kind else graph.numpy_dtype(element_type_of(value))
        return np.broadcast_to(np.zeros((), own), tuple(shape_of(value)))

    def _onnx_type(self, name: str) -> int:
        """Element type that the model declares for a value, or ONNX infers; UNDEFINED where neither does."""
        if name in self._declared:
            return self._declared[name].type.tensor_type.elem_type
        array = self._known.get(name)
        return onnx.TensorProto.UNDEFINED if array is None else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)

    def run(self) -> ir.Module:
        """Build the module."""
        module = ir.Module.create()
        inputs = [value for value in self._graph.input if not self._known.is_initializer(value.name)]
        names = [value.name for value in self._graph.output]
        types = [self._input_type(value) for value in inputs]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(ENTRY, ir.FunctionType.get(types, []))
        block = function.add_entry_block()
        for value, argument in zip(inputs, block.arguments, strict=True):
            argument.set_location(onnx_location(value.name, self._model.file_name))
            self._values[value.name] = argument
        with ir.InsertionPoint(block):
            for index, proto in enumerate(self._graph.node):
                self._import_node(proto, index)
            results = [self._result(name) for name in names]
            notes, counts = result_extents(names, self._extents, {*self._values, *self._declared})
            results, names = [*results, *counts.values()], [*names, *counts]
            func.ReturnOp(results)
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [r.type for r in results]))
        if inputs:
            function.arg_attrs = _name_attributes([value.name for value in inputs])
        if names:
            function.res_attrs = _name_attributes(names)
        _erase_unused(block)
        note_extents(module, notes)
        note_sequences(module, self._model.sequences)
        return self._verified(module)

    def _result(self, name: str) -> Any:
        return self._operand(name)

    def _verified(self, module: ir.Module) -> ir.Module:
        try:
            module.operation.verify()
        except ir.MLIRError as error:
            raise InternalError(f"importing {self._model.file_name} gave invalid IR: {error}") from error
        return module

    def _input_type(self, value: onnx.ValueInfoProto) -> Any:
        tensor = value.type.tensor_type
        try:
            element_type = held_type(tensor.elem_type)
        except (ValueError, KeyError):
            name = onnx.TensorProto.DataType.Name(tensor.elem_type)
            message = f"input '{value.name}' has element type {name}, which is not supported"
            text = tensor.elem_type == onnx.TensorProto.STRING
            hint = "map strings to numbers outside the model" if text else "use FLOAT"
            raise CompileError(message, location=self._model.file_name, hint=hint) from None
        return graph.tensor([dim.dim_value for dim in tensor.shape.dim], element_type)

    def _operand(self, name: str) -> Any:
        """MLIR value of an ONNX name; an initializer becomes a constant when it is first used."""
        if name not in self._values:
            array = self._known.get(name)
            if array is None:
                raise CompileError(f"value '{name}' is used before it is computed", location=self._model.file_name)
            self._values[name] = self._constant(name, array)
        return self._values[name]

    def _constant(self, name: str, array: np.ndarray) -> Any:
        try:
            operation = graph.Constant.build(value=held(array), loc=onnx_location(name, self._model.file_name))
        except (ValueError, TypeError) as error:
            text = array.dtype.kind in "OSUT"
            reason, hint = ("it holds strings", STRINGS) if text else (str(error), None)
            raise CompileError(f"constant '{name}': {reason}", location=self._model.file_name, hint=hint) from None
        operation.attributes["onnx.name"] = ir.StringAttr.get(name)
        return operation.result

    def _import_node(self, proto: onnx.NodeProto, index: int) -> None:
        name = proto.name or f"{proto.op_type}_{index}"
        events.emit("node", name)
        if proto.op_type in LISTS:  # what reads a list and is left is refused itself
            return
        version = operator_version(proto, self._opsets)
        node = Node(proto, name, version, self._model.file_name, self._operand, self._known.get, self._onnx_type)
        node.sources = self._known.sources
        node.given = [self._extents.get(operand, {}) for operand in proto.input]
        node.lengths = [self._lengths.get(operand) for operand in proto.input]
        with onnx_location(name, self._model.file_name):
            results = self._results(node)
            self._measure(node, results)
        for number, (output, value) in enumerate(zip(proto.output, results, strict=False)):
            if output:
                self._check_declared(node, output, value, node.found.get(number, {}))
                self._values[output] = value
                if node.found.get(number):
                    self._extents[output] = node.found[number]
                if node.measured is not None and not number:
                    self._lengths[output] = node.measured
        missing = [output for output in proto.output[len(results) :] if output]
        if missing:
            raise node.error(f"its output '{missing[0]}' is not supported", hint="use only the first outputs")

    def _results(self, node: Node) -> list[Any]:
        operator = find_operator(node.proto)
        if operator is None or node.version not in operator.versions or self._is_counted(node.proto):
            return self._evaluated(node)
        if node.proto.domain in ("", "ai.onnx"):
            check_types(node.proto, node.version, self._onnx_type, node.file_name, node.name)
            check_node(node)
        if node.op_type in COUNTING:
            return self._counted_once(node, operator)
        return self._handled(node, operator)

    def _handled(self, node: Node, operator: Operator) -> list[Any]:
        try:
            handler = with_extents(operator.handler, node) if is_concerned(node) else operator.handler
            results = handler(node)
        except (ValueError, TypeError) as error:
            hint = "correct its attributes, or the shapes and types of what it reads"
            raise node.error(str(error), hint=hint) from None
        return results if isinstance(results, list) else [results]

    def _counted_once(self, node: Node, operator: Operator) -> list[Any]:
        """Equal nodes have one count: exporters write a NonZero for every use of a mask, and the results meet."""
        attributes = tuple(sorted(entry.SerializeToString() for entry in node.proto.attribute))
        key = node.op_type, len(node.proto.output), attributes, *node.operands()
        if key not in self._counted:
            self._counted[key] = self._handled(node, operator), node.found
        results, node.found = self._counted[key]
        return results

    def _measure(self, node: Node, results: list[Any]) -> None:
        """Note what is known of the elements of a shape."""
        if node.measured is None:
            node.measured = followed(node)
        if node.measured is None and results and results[0] is not None:
            masks = {key[3]: found[0][1] for key, (_, found) in self._counted.items() if key[0] == "NonZero" and found}
            count = counted(node, results[0], masks)
            node.measured = None if count is None else [count]

    def _is_counted(self, proto: onnx.NodeProto) -> bool:
        """Whether results with extents that a run would find are known when compiling, and with them the extents."""
        return proto.op_type in COUNTING and all(not name or self._known.get(name) is not None for name in proto.output)

    def _evaluated(self, node: Node) -> list[Any]:
        """Results of an operator without a handler whose operands are all known."""
        arrays = [self._known.get(output) if output else None for output in node.proto.output]
        if any(array is None and output for array, output in zip(arrays, node.proto.output, strict=True)):
            raise unsupported(node)
        return [None if array is None else self._constant(node.name, array) for array in arrays]

    def _check_declared(self, node: Node, output: str, value: Any, open_dimensions: Extents) -> None:
        """The type computed here must be the one that the model declares or ONNX infers, but for extents that a run
        finds: exporters declare those of the sample that they saw."""
        declared = self._declared.get(output)
        if declared is None or not declared.type.tensor_type.HasField("shape"):
            return
        dims = declared.type.tensor_type.shape.dim
        shape = shape_of(value)
        fits = len(dims) == len(shape) and all(
            i in open_dimensions or not dim.HasField("dim_value") or dim.dim_value == extent
            for i, (dim, extent) in enumerate(zip(dims, shape, strict=False))
        )
        if not fits:
            wanted = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims]
            raise node.error(f"its output '{output}' has shape {shape}, but the model declares {wanted}")


def unsupported(node: Node) -> CompileError:
    """The refusal of an operator, or of a version of it, that has no handler."""
    domain = f" of domain '{node.proto.domain}'" if node.proto.domain else ""
    message = f"operator {node.op_type}{domain} is not supported"
    if not domain:
        message = KINDS.get(node.op_type, message)
    if find_operator(node.proto) is not None:
        message = f"version {node.version} of operator {node.op_type}{domain} is not supported"
    return node.error(message, hint=unsupported_hint(node.op_type, OPERATORS, node.proto.domain))


def _name_attributes(names: list[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.DictAttr.get({"onnx.name": ir.StringAttr.get(name)}) for name in names])


def _erase_unused(block: ir.Block) -> None:
    """Erase operations without uses, last first: they only computed shapes."""
    for operation in reversed(list(block.operations)):
        if operation.operation.name != "func.return" and not any(list(r.uses) for r in operation.operation.results):
            operation.operation.erase()
