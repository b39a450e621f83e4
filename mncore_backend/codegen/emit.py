"""Scheduled statements -> assembly text, and the nodes that each line works for."""

from collections.abc import Iterable, Iterator
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.dialects.mncore.trips import TRIPS
from mnc.mncore_backend.codegen.program_ir import Unit, read_buffer, read_images, read_trips
from mnc.mncore_backend.codegen.trips import Trips

FINAL = frozenset(["func.return", "mncore.buffer", "mncore.image", "mncore.kept", "mncore.statement"])
"""What `schedule` leaves."""


def emit_module(module: Any, most: int | None = None) -> str:
    """The program of a module of ``mncore.statement`` operations, one statement a line; of a program that is repeated
    `most` trips, or all.

    Raises:
        CompileError: the module holds anything that no schedule has placed.
    """
    _check_scheduled(module)
    operations = list(_operations(module))
    statements = (operation for operation in operations if operation.name == "mncore.statement")
    texts = [ir.StringAttr(statement.attributes["text"]).value for statement in statements]
    if most == 1 or not any(TRIPS in function.operation.attributes for function in module.body.operations):
        return _lines(texts)
    buffers = {made.name: made for made in (read_buffer(op) for op in operations if op.name == "mncore.buffer")}
    trips = read_trips(module, buffers, read_images(module, buffers))
    return _lines(texts if trips is None else trips.lines(texts, most))


def emit_unit(unit: Unit, module: Any, trips: Trips | None = None) -> str:
    """The same for a module that has been read already."""
    _check_scheduled(module)
    texts = [text for text, _ in unit.statements]
    return _lines(texts if trips is None else trips.lines(texts))


def _operations(module: Any) -> Iterator[Any]:
    for top in module.body.operations:
        for region in top.operation.regions:
            yield from (op.operation for block in region.blocks for op in block.operations)


def _check_scheduled(module: Any) -> None:
    """A module of an earlier stage has no statements, which must not pass for a program that does nothing."""
    for operation in _operations(module):
        if operation.name == "mncore.instruction":
            raise error_at(module.operation, "holds unscheduled instructions", hint="run allocate-buffers and schedule")
        if operation.name not in FINAL:
            message = "is of an earlier stage: assembly is made of scheduled statements"
            raise error_at(operation, message, hint="run all stages, up to schedule, see docs/pipeline.md")


def _lines(texts: Iterable[str]) -> str:
    return "".join([f"{text}\n" for text in texts])


def line_nodes(unit: Unit, trips: Trips | None = None) -> list[str]:
    """For every line of the text the ONNX nodes it works for, joined by " + "; empty where there is none."""
    nodes = [nodes for _, nodes in unit.statements]
    return nodes if trips is None else [*nodes, *(trips.count - 1) * ["", *nodes]]
