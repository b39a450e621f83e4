"""Instrumentation that reads off the IR what a record wants to know."""

import time
from typing import Any

from mnc.core.bindings import ir
from mnc.core.explanation import Explanation
from mnc.core.instrumentation import Instrumentation
from mnc.core.nesting_pass import NestingPass
from mnc.core.recording import current_recording
from mnc.core.view_pass import view_of
from mnc.record.snapshots import fused_nodes, kernels_of, layouts_of

ALLOCATED, LAYOUTS, KERNELS, FUSED = "allocated", "layouts", "kernels", "fused"
"""Subjects of notes."""
SHORT = 20_000
"""Operations up to which a program is kept as it is before scheduling, whatever the record is for."""


def count_operations(module: ir.Module) -> int:
    """Operations of a module, nested ones included, and those that stand in a view of it for the time being."""
    if (view := view_of(module)) is not None:
        return view.count()
    total = 0
    stack = [module.operation]
    while stack:
        for region in stack.pop().regions:
            for block in region.blocks:
                for op in block.operations:
                    total += 1
                    if len(op.operation.regions):
                        stack.append(op.operation)
    return total


class Recorder(Instrumentation):
    """Notes passes with their time and operations, and the state of the program where it tells most."""

    def __init__(self, explanation: Explanation, *, complete: bool = False) -> None:
        self._explanation = explanation
        self._complete = complete
        self._known = 0
        self._start = 0.0
        self._before = 0

    def looks_at(self, entry: Any) -> bool:
        return False  # but for passes that leave no view

    def before(self, entry: Any, module: ir.Module) -> None:
        active = current_recording()
        if active is None or isinstance(entry, NestingPass):
            return  # passes inside of others are noted one by one
        if entry.name == "select-instructions":
            active.current.notes[KERNELS] = kernels_of(module)
        self._before = count_operations(module)
        self._start = time.perf_counter()

    def after(self, entry: Any, module: ir.Module) -> None:
        seconds = time.perf_counter() - self._start
        active = current_recording()
        if active is None or isinstance(entry, NestingPass):
            return
        attempt = active.current
        after = count_operations(module)
        attempt.passes.append(
            {"pass": str(entry), "before": self._before, "after": after, "seconds": round(seconds, 6)}
        )
        lines = list(self._explanation.lines)
        attempt.notes.setdefault("refusals", []).extend(lines[self._known :])
        self._known = len(lines)
        if entry.name == "fuse-elementwise":
            attempt.notes[FUSED] = fused_nodes(module)
        elif entry.name == "assign-layouts":
            attempt.notes[LAYOUTS] = layouts_of(module)
        elif entry.name == "allocate-buffers" and (self._complete or after <= SHORT):
            attempt.notes[ALLOCATED] = _allocated(module)


def _allocated(module: ir.Module) -> Any:
    """The program that a module holds, as later passes leave it alone."""
    from mnc.mncore_backend.codegen.program_ir import Unit, read_unit
    from mnc.mncore_backend.program import Program

    view = view_of(module)
    program = (view if isinstance(view, Unit) else read_unit(module)).program
    return Program(list(program.buffers), list(program.operations))
