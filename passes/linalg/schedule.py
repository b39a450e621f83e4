"""Schedules of the transform dialect without the boilerplate."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mnc.core.bindings import ir, submodule

_TAG = "mnc.target"


@contextmanager
def schedule(module: ir.Module) -> Iterator[Any]:
    """Build a transform sequence inside the block, apply it to `module` at its end.

    Yields the handle of the module. Handles to operations that the sequence replaces are dangling
    afterwards. Raises ``ir.MLIRError`` when a step fails.
    """
    transform = submodule("dialects.transform")
    interpreter = submodule("dialects.transform.interpreter")
    any_op = transform.AnyOpType.get()
    script = ir.Module.create()
    script.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
    with ir.InsertionPoint(script.body):
        attributes = [{"transform.consumed": ir.UnitAttr.get()}]
        sequence = transform.NamedSequenceOp("__transform_main", [any_op], [], arg_attrs=attributes)
    with ir.InsertionPoint(sequence.body):
        yield sequence.bodyTarget
        transform.YieldOp()
    interpreter.apply_named_sequence(module, sequence, script)


def tag(op: ir.Operation, number: int) -> None:
    """Mark `op` so that `tagged` finds it."""
    op.attributes[_TAG] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def tagged(root: Any, number: int) -> Any:
    """Handle of the operation marked `number`."""
    transform = submodule("dialects.transform")
    structured = submodule("dialects.transform.structured")
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    return structured.structured_match(transform.AnyOpType.get(), root, op_attrs=ir.DictAttr.get({_TAG: attribute}))


def remove_tags(module: ir.Module) -> None:
    """Remove the marks of `tag`, which copies made by a schedule also carry."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if _TAG in op.attributes:
            del op.attributes[_TAG]
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
