"""Scheduled statements -> assembly text, and the nodes that each line works for."""

from typing import Any

from mnc.core.context import error_at
from mnc.mncore_backend.program_ir import read_unit


def emit_module(module: Any) -> str:
    """The program of a module of ``mncore.statement`` operations, one statement a line.

    Raises:
        CompileError: the module still holds instructions that no schedule has placed.
    """
    unit = read_unit(module)
    if unit.program.operations:
        raise error_at(module.operation, "holds unscheduled instructions", hint="run allocate-buffers and schedule")
    return "".join(f"{text}\n" for text, _ in unit.statements)


def line_nodes(module: Any) -> list[str]:
    """For every line of the text the ONNX nodes it works for, joined by " + "; empty where there is none."""
    return [nodes for _, nodes in read_unit(module).statements]
