"""Scheduled statements -> assembly text, and the nodes that each line works for."""

from collections.abc import Iterable
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.mncore_backend.program_ir import Unit


def emit_module(module: Any) -> str:
    """The program of a module of ``mncore.statement`` operations, one statement a line.

    Raises:
        CompileError: the module still holds instructions that no schedule has placed.
    """
    operations = [op.operation for f in module.body.operations for op in f.operation.regions[0].blocks[0].operations]
    if any(operation.name == "mncore.instruction" for operation in operations):
        raise _unscheduled(module)
    statements = (operation for operation in operations if operation.name == "mncore.statement")
    return _lines(ir.StringAttr(statement.attributes["text"]).value for statement in statements)


def emit_unit(unit: Unit, module: Any) -> str:
    """The same for a module that has been read already."""
    if unit.program.operations:
        raise _unscheduled(module)
    return _lines(text for text, _ in unit.statements)


def _unscheduled(module: Any) -> Exception:
    return error_at(module.operation, "holds unscheduled instructions", hint="run allocate-buffers and schedule")


def _lines(texts: Iterable[str]) -> str:
    return "".join([f"{text}\n" for text in texts])


def line_nodes(unit: Unit) -> list[str]:
    """For every line of the text the ONNX nodes it works for, joined by " + "; empty where there is none."""
    return [nodes for _, nodes in unit.statements]
