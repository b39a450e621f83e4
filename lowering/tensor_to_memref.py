"""The pass `tensor-to-memref`: bufferization with memory spaces."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir, linalg, memref, passmanager, tensor
from mnc.core.context import error_at
from mnc.core.memory_spaces import assign_memory_spaces, read_space
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass

_BUFFERIZE = (
    "canonicalize,cse,eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries"
    " function-boundary-type-conversion=identity-layout-map unknown-type-conversion=identity-layout-map},"
    "canonicalize,cse"
)
_RESULTS_TO_PARAMETERS = "buffer-results-to-out-params{hoist-static-allocs=true modify-public-functions=true}"
_DEALLOCATE = (
    "ownership-based-buffer-deallocation,canonicalize,buffer-deallocation-simplification,"
    "bufferization-lower-deallocations,canonicalize,cse"
)
RESULT_ATTRIBUTE = "mnc.result"
"""Marks the arguments that hold the results of the function, in order."""


@dataclass(frozen=True)
class TensorToMemref(Pass):
    """Bufferize; function results become arguments that are written, marked ``mnc.result``.

    before: ``func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>``
    after: ``func.func @main(%x: memref<4xf32, #space>, %y: memref<4xf32, #space> {mnc.result})``

    Options:
        memory_space: text of an attribute, such as ``#mncore.memory<"DRAM">`` or ``1``; the space of
            arguments, results and constants. Empty: the default space.
        local_space: the space of the buffers in between. Empty: the default space.
        results_to_parameters: off keeps function results.
        deallocate: end the lifetime of every allocation explicitly.
    """

    name: ClassVar[str] = "tensor-to-memref"
    memory_space: str = ""
    local_space: str = ""
    results_to_parameters: bool = True
    deallocate: bool = False

    def run(self, module: ir.Module) -> None:
        """Raises CompileError when a memory space cannot be read."""
        with module.context, ir.Location.unknown():
            spaces = [read_space(text, self.name) for text in (self.memory_space, self.local_space)]
            _check_lowered(module)
            if self.results_to_parameters:
                _check_results(module)
            _decompose_concats(module)
            attributes = _result_attributes(module)
            _run(module, _BUFFERIZE)
            if self.results_to_parameters:
                _copy_shared_results(module)
                _run(module, _RESULTS_TO_PARAMETERS)
                _mark_results(module, attributes)
            if self.deallocate:
                _run(module, _DEALLOCATE)
            _copies_to_linalg(module)
            if any(space is not None for space in spaces):
                assign_memory_spaces(module, boundary=spaces[0], local=spaces[1])


def _run(module: ir.Module, pipeline: str) -> None:
    passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)


def _check_lowered(module: ir.Module) -> None:
    """Raises CompileError for an operation of which no buffers can be made."""
    for block in (block for function in functions_of(module) for block in function.operation.regions[0].blocks):
        for op in block.operations:
            if op.operation.name.startswith("graph."):
                raise error_at(op, "is not lowered to linalg", "run graph-to-linalg first")


def _check_results(module: ir.Module) -> None:
    """Raises CompileError for a result of open extents: who calls the function has to make its buffer."""
    for function in functions_of(module):
        types = ir.FunctionType(ir.TypeAttr(function.operation.attributes["function_type"]).value).results
        for number, type_ in enumerate(types):
            if isinstance(type_, ir.RankedTensorType) and not type_.has_static_shape:
                message = f"its result {number} of shape {type_} cannot become a parameter"
                raise error_at(function, message, "give it static extents, or keep it with results-to-parameters=false")


def _operations(module: ir.Module, name: str) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _decompose_concats(module: ir.Module) -> None:
    """`tensor.concat` cannot be bufferized: write the operands into slices of an empty tensor."""
    for op in _operations(module, "tensor.concat"):
        type_ = ir.RankedTensorType(op.results[0].type)
        axis = ir.IntegerAttr(op.attributes["dim"]).value
        with ir.InsertionPoint(op), op.location:
            whole = tensor.EmptyOp(list(type_.shape), type_.element_type).result
            offsets = [0] * type_.rank
            for part in op.operands:
                shape = list(ir.RankedTensorType(part.type).shape)
                whole = tensor.InsertSliceOp(part, whole, [], [], [], offsets, shape, [1] * type_.rank).result
                offsets[axis] += shape[axis]
        op.results[0].replace_all_uses_with(whole)
        op.erase()


def _copy_shared_results(module: ir.Module) -> None:
    """Let every result be an allocation of its own: not an argument, a constant, or an earlier result.

    The upstream pass that turns results into arguments crashes on those.
    """
    for op in _operations(module, "func.return"):
        seen: set[ir.Value] = set()
        for i, value in enumerate(op.operands):
            owner = value.owner
            allocated = not isinstance(owner, ir.Block) and owner.name not in ("memref.get_global", "func.call")
            if isinstance(value.type, ir.MemRefType) and (not allocated or value in seen):
                with ir.InsertionPoint(op), op.location:
                    own = memref.AllocOp(value.type, [], []).result
                    linalg.copy(value, outs=[own])
                    op.operands[i] = own
            seen.add(value)


def _result_attributes(module: ir.Module) -> dict[str, list[ir.DictAttr]]:
    """Attributes of the results of every function, which bufferization would drop."""
    kept = {}
    for op in _operations(module, "func.func"):
        count = len(ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).results)
        given = list(op.attributes["res_attrs"]) if "res_attrs" in op.attributes else []
        kept[ir.StringAttr(op.attributes["sym_name"]).value] = given or [ir.DictAttr.get({})] * count
    return kept


def _mark_results(module: ir.Module, kept: dict[str, list[ir.DictAttr]]) -> None:
    for op in _operations(module, "func.func"):
        results = kept[ir.StringAttr(op.attributes["sym_name"]).value]
        count = len(ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs)
        given = list(op.attributes["arg_attrs"]) if "arg_attrs" in op.attributes else []
        given += [ir.DictAttr.get({})] * (count - len(given))
        marked = [_with_mark(attributes) for attributes in results]
        if count:
            op.attributes["arg_attrs"] = ir.ArrayAttr.get([*given[: count - len(marked)], *marked])


def _with_mark(attributes: ir.DictAttr) -> ir.DictAttr:
    entries = {entry.name: entry.attr for entry in attributes}
    return ir.DictAttr.get({**entries, RESULT_ATTRIBUTE: ir.UnitAttr.get()})


def _copies_to_linalg(module: ir.Module) -> None:
    """`memref.copy` -> `linalg.copy`, which becomes loops; a copy of a buffer onto itself vanishes."""
    for op in _operations(module, "memref.copy"):
        source, target = op.operands
        if source != target:
            with ir.InsertionPoint(op), op.location:
                linalg.copy(source, outs=[target])
        op.erase()
