"""Scheduled statements -> assembly text, and the nodes that each line works for."""

from typing import Any

from mnc.core.context import error_at
from mnc.mncore_backend.program_ir import Unit, read_unit


def emit_module(module: Any) -> str:
    """The program of a module of ``mncore.statement`` operations, one statement a line.

    Raises:
        CompileError: the module still holds instructions that no schedule has placed.
    """
    return emit_unit(read_unit(module), module)


def emit_unit(unit: Unit, module: Any) -> str:
    """The same for a module that has been read already."""
    if unit.program.operations:
        raise error_at(module.operation, "holds unscheduled instructions", hint="run allocate-buffers and schedule")
    return "".join(f"{text}\n" for text, _ in unit.statements)


def line_nodes(unit: Unit) -> list[str]:
    """For every line of the text the ONNX nodes it works for, joined by " + "; empty where there is none."""
    return [nodes for _, nodes in unit.statements]
