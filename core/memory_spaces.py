"""Putting memory spaces on the types of buffers that are already there."""

from collections.abc import Callable

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError

Space = ir.Attribute | None


def with_space(type_: ir.Type, space: Space) -> ir.Type:
    """The memref type in another memory space; other types as they are."""
    if not isinstance(type_, ir.MemRefType):
        return type_
    return ir.MemRefType.get(type_.shape, type_.element_type, layout=type_.layout, memory_space=space)


def _source_space(op: ir.Operation) -> Space:
    """Space of the first buffer that `op` takes: views and casts stay where their source is."""
    for operand in op.operands:
        if isinstance(operand.type, ir.MemRefType):
            return operand.type.memory_space
    return None


def read_space(text: str, owner: str) -> Space:
    """The attribute of a memory space, from an option of the pass `owner`; None for empty text. Raises CompileError."""
    if not text:
        return None
    handler = ir.Context.current.attach_diagnostic_handler(lambda _: True)  # the error below says it
    try:
        return ir.Attribute.parse(text)
    except (ir.MLIRError, ValueError):
        hint = 'write an attribute such as #mncore.memory<"LM0"> or an integer'
        raise CompileError(f"pass '{owner}': cannot read the memory space '{text}'", hint=hint) from None
    finally:
        handler.detach()


def assign_memory_spaces(module: ir.Module, boundary: Space, local: Space) -> None:
    """Move arguments, results and globals to `boundary` and allocations to `local`; views follow."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.func":
            _retype_signature(op, lambda type_: with_space(type_, boundary))
        elif op.name == "memref.global":
            type_ = ir.TypeAttr(op.attributes["type"]).value
            op.attributes["type"] = ir.TypeAttr.get(with_space(type_, boundary))
        for result in op.results:
            if isinstance(result.type, ir.MemRefType):
                result.set_type(with_space(result.type, _space_of_result(op, boundary, local)))
        _retype_carried(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)


def _space_of_result(op: ir.Operation, boundary: Space, local: Space) -> Space:
    if op.name in ("memref.alloc", "memref.alloca"):
        return local
    return boundary if op.name in ("memref.get_global", "func.call") else _source_space(op)


def _retype_carried(op: ir.Operation) -> None:
    """Buffers that a loop carries are in the space of their initial values."""
    if op.name not in ("scf.for", "affine.for"):
        return
    carried = [value for value in op.operands if isinstance(value.type, ir.MemRefType)]
    arguments = [a for a in op.regions[0].blocks[0].arguments if isinstance(a.type, ir.MemRefType)]
    for value, argument in zip(carried, arguments, strict=True):
        argument.set_type(value.type)


def _retype_signature(function: ir.Operation, change: Callable[[ir.Type], ir.Type]) -> None:
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs, results = ([change(t) for t in types] for types in (type_.inputs, type_.results))
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    if function.regions[0].blocks:
        for argument in function.regions[0].blocks[0].arguments:
            argument.set_type(change(argument.type))


def map_memory_spaces(module: ir.Module, change: Callable[[Space], Space]) -> None:
    """Rewrite the space of every buffer type with `change`, which gets the old space or None."""

    def new_type(type_: ir.Type) -> ir.Type:
        if not isinstance(type_, ir.MemRefType):
            return type_
        old = type_.memory_space
        new = change(old)
        return type_ if new is old else with_space(type_, new)

    def visit(op: ir.Operation) -> ir.WalkResult:
        for result in op.results:
            result.set_type(new_type(result.type))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_type(new_type(argument.type))
        if op.name == "func.func":
            _retype_signature(op, new_type)
        elif op.name == "memref.global":
            op.attributes["type"] = ir.TypeAttr.get(new_type(ir.TypeAttr(op.attributes["type"]).value))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
