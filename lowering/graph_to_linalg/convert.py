"""The pass `graph-to-linalg`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.dialects.graph.contraction import PRECISION
from mnc.lowering.graph_to_linalg.emit import signless
from mnc.lowering.graph_to_linalg.source import Handler, Source


@cache
def handlers() -> Mapping[str, Handler]:
    """Name of a graph operation -> what lowers it."""
    from mnc.lowering.graph_to_linalg import (
        composite,
        contraction,
        convolution,
        elementwise,
        pooling,
        reduction,
        shape,
    )

    families = (elementwise, reduction, contraction, convolution, pooling, shape, composite)
    return {name: handler for family in families for name, handler in family.HANDLERS.items()}


@dataclass(frozen=True)
class GraphToLinalg(Pass):
    """Lower every graph operation to linalg, tensor, arith and math on tensors.

    before: ``%2 = "graph.relu"(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>``
    after: ``%2 = linalg.generic {...} ins(%1) outs(%e) { arith.maximumf ... } -> tensor<2x3xf32>``

    Unsigned element types become signless; function arguments and results that had one get the
    attribute ``mnc.unsigned``. Every new operation has the location of the graph operation.
    """

    name: ClassVar[str] = "graph-to-linalg"

    def run(self, module: ir.Module) -> None:
        """Raises CompileError for a graph operation without a lowering."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                _lower_function(function.operation)


def _lower_function(function: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    values: dict[ir.Value, ir.Value] = {}
    lowered = []
    for view in list(block.operations):
        op = view.operation
        if op.name.startswith("graph."):
            _lower_operation(op, values)
            lowered.append(op)
        else:
            _redirect(op, values)
    for op in reversed(lowered):
        op.erase()
    _make_signless(function, block)


def _lower_operation(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    handler = handlers().get(op.name)
    if handler is None:
        raise error_at(op, "has no lowering to linalg", "decompose it at the graph level first")
    with ir.InsertionPoint(op), op.location:
        results = handler(Source(op), *(values.get(operand, operand) for operand in op.operands))
    results = results if isinstance(results, list) else [results]
    for old, new in zip(op.results, results, strict=True):
        values[old] = new
    _keep_attributes(op, results[0])
    if PRECISION in op.attributes:
        _keep_precision(op, results[0])


def _keep_precision(op: ir.Operation, result: ir.Value) -> None:
    """The precision chosen for a contraction goes to its multiply-add, which has the same location."""
    pending = [result]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or owner.location != op.location:
            continue
        if owner.name == "linalg.generic" and "reduction" in str(owner.attributes["iterator_types"]):
            owner.attributes["mncore.precision"] = op.attributes[PRECISION]
        else:
            pending.extend(owner.operands)


def _keep_attributes(op: ir.Operation, result: ir.Value) -> None:
    """Dialect attributes such as ``onnx.name`` go to the operation that makes the first result."""
    owner = result.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return
    for attribute in op.attributes:
        name = attribute if isinstance(attribute, str) else attribute.name
        if "." in name:
            owner.attributes[name] = op.attributes[name]


def _redirect(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    for i, operand in enumerate(op.operands):
        if operand in values:
            op.operands[i] = values[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _redirect(inner.operation, values)


def _signless_type(type_: ir.Type) -> ir.Type:
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    return ir.RankedTensorType.get(type_.shape, signless(type_.element_type), type_.encoding)


def _make_signless(function: ir.Operation, block: ir.Block) -> None:
    """Change unsigned types of the signature, and remember them in ``mnc.unsigned``."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for kind, types in (("arg_attrs", type_.inputs), ("res_attrs", type_.results)):
        if any(_is_unsigned_tensor(t) for t in types):
            given = function.attributes[kind] if kind in function.attributes else [ir.DictAttr.get({})] * len(types)
            function.attributes[kind] = ir.ArrayAttr.get(
                [_marked(d) if _is_unsigned_tensor(t) else d for d, t in zip(given, types, strict=True)]
            )
    for argument in block.arguments:
        argument.set_type(_signless_type(argument.type))
    signature = ir.FunctionType.get(
        [_signless_type(t) for t in type_.inputs], [_signless_type(t) for t in type_.results]
    )
    function.attributes["function_type"] = ir.TypeAttr.get(signature)


def _is_unsigned_tensor(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and signless(type_.element_type) != type_.element_type


def _marked(attributes: ir.DictAttr) -> ir.DictAttr:
    entries = {entry.name: entry.attr for entry in attributes}
    return ir.DictAttr.get({**entries, "mnc.unsigned": ir.UnitAttr.get()})
