"""Scheduled statements -> assembly text, and the nodes that each line works for."""

from collections.abc import Container, Iterable
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import CompileError
from mnc.dialects.mncore.trips import TRIPS
from mnc.mncore_backend.codegen.host_ir import read_images, read_trips
from mnc.mncore_backend.codegen.program_ir import INSTRUCTION, STATEMENT, Unit, operations_of, read_buffer
from mnc.mncore_backend.codegen.trips import Trips

FINAL = frozenset(["func.return", "mncore.buffer", "mncore.image", "mncore.kept", "mncore.statement"])
"""What `schedule` leaves."""


def emit_module(module: Any, most: int | None = None) -> str:
    """The program of a module of ``mncore.statement`` operations, one statement a line; of a program that is repeated
    `most` trips, or all.

    Raises:
        CompileError: the module holds anything that no schedule has placed.
    """
    _check_scheduled(module, FINAL)
    operations = list(operations_of(module))
    texts = [ir.StringAttr(made.attributes["text"]).value for made in operations if made.name == STATEMENT]
    if most == 1 or not _is_repeated(module):
        return _lines(texts)
    buffers = {made.name: made for made in (read_buffer(op) for op in operations if op.name == "mncore.buffer")}
    trips = read_trips(module, buffers, read_images(module, buffers))
    return _lines(texts if trips is None else trips.lines(texts, most))


def emit_unit(unit: Unit, trips: Trips | None = None, most: int | None = None) -> str:
    """The same for what has been read out of a module."""
    _check_scheduled(unit.module, FINAL | {INSTRUCTION})  # which the unit has instead
    if unit.program.operations:
        raise _unscheduled(unit.module)
    texts = [text for text, _ in unit.statements]
    return _lines(texts if trips is None else trips.lines(texts, most))


def trips_of(unit: Unit) -> Trips | None:
    """The trips of a program that is repeated; None if it is not."""
    if not _is_repeated(unit.module):
        return None
    return read_trips(unit.module, unit.buffers, read_images(unit.module, unit.buffers))


def _is_repeated(module: Any) -> bool:
    return any(TRIPS in function.operation.attributes for function in module.body.operations)


def _check_scheduled(module: Any, allowed: Container[str]) -> None:
    """A module of an earlier stage has no statements, which must not pass for a program that does nothing."""
    for top in module.body.operations:
        for operation in (op.operation for region in top.regions for block in region.blocks for op in block.operations):
            if operation.name in allowed:
                continue
            if operation.name == INSTRUCTION:
                raise _unscheduled(module)
            message = "is of an earlier stage: assembly is made of scheduled statements"
            raise error_at(operation, message, hint="run all stages, up to schedule, see docs/pipeline.md")


def _unscheduled(module: Any) -> CompileError:
    return error_at(module.operation, "holds unscheduled instructions", hint="run allocate-buffers and schedule")


def _lines(texts: Iterable[str]) -> str:
    return "".join([f"{text}\n" for text in texts])


def line_nodes(unit: Unit, trips: Trips | None = None) -> list[str]:
    """For every line of the text the ONNX nodes it works for, joined by " + "; empty where there is none."""
    nodes = [nodes for _, nodes in unit.statements]
    return nodes if trips is None else [*nodes, *(trips.count - 1) * ["", *nodes]]
