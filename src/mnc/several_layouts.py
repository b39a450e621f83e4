"""A small program is compiled with several preferences about layouts, and the shortest is kept.

Prices of layouts are rough, schedules are exact. Preferences are changed one after the other, on top of the changes
that have made the program shorter so far; layouts that were compiled before are not compiled again. Where tensors are
tiny, one preference is known to be right, and most programs are compiled once.
"""

import typing
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.recording import begin_attempt, choose_attempt, position, rewind
from mnc.mncore_backend.allocation.allocate import CapacityError
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.cost import cost_of
from mnc.mncore_backend.distribution import Preference
from mnc.mncore_backend.emit import emit_module
from mnc.mncore_backend.machine import L2BS, LONG_BYTES, PES, WORD_BYTES
from mnc.options import Options
from mnc.stages import STAGES, Pipeline, stage_pipeline

PREFERENCES: tuple[Preference, ...] = typing.get_args(Preference)
"""In the order in which they are changed: the first gains most."""
ALIKE: Preference = "alike"
FIRST_STAGE, DECISION = "spmd", "assign-layouts"
MOST_STATEMENTS = 3000
"""Programs that are longer without preferences are compiled once: several compilations would take too long."""
LEAST_CYCLES = 1000
"""Programs that take less are compiled once: they load, work and store, and hardly wait otherwise."""
TINY = 2 * PES // L2BS * LONG_BYTES // WORD_BYTES
"""Elements of a tensor that gives the PEs of one L2B two long words. To split less than that over L2Bs saves a step or
two of work, and what has to be exchanged later passes PDM."""
NOTE = "mnc.preferences"


ROOMS = (100, 88, 75, 62, 50)
"""Percent of local memory that values take at once: less is tried where kernels find no room beside them."""
SPILLS = "spill-buffers"


def _entries(options: Options) -> list[Any]:
    """The passes from `FIRST_STAGE` on."""
    stages = list(STAGES)[list(STAGES).index(FIRST_STAGE) :]
    return [entry for name in stages for entry in stage_pipeline(name, options).entries]


@dataclass(frozen=True)
class Compiled:
    """A scheduled module, the preferences that led to it, and its text."""

    module: Any
    preferences: tuple[Preference, ...]
    text: str

    @cached_property
    def length(self) -> tuple[int, int]:
        """Its cycles and steps."""
        cost = cost_of(parse_program(self.text))
        return cost.cycles, cost.steps


class _Search:
    """Compiles a module again and again."""

    def __init__(self, module: Any, options: Options) -> None:
        self.module = module
        self.options = options
        self.seen: set[str] = set()

    def compiled(self, preferences: Collection[Preference]) -> Compiled | None:
        """The program with these preferences; None if others have led to the same layouts."""
        ordered: tuple[Preference, ...] = tuple(name for name in PREFERENCES if name in preferences)
        begin_attempt(", ".join(ordered))
        options = replace(self.options, prefer=ordered)
        entries = _entries(options)
        names = [entry.name for entry in entries]
        decided, spills = names.index(DECISION) + 1, names.index(SPILLS)
        module = _copy(self.module)
        events.emit("stage", f"layouts: {', '.join(ordered) or 'plain'}")
        Pipeline(tuple(entries[:decided])).run(module)
        layouts = module.operation.get_asm(large_elements_limit=16, large_resource_limit=16)
        if layouts in self.seen:
            return None
        self.seen.add(layouts)
        Pipeline(tuple(entries[decided:spills])).run(module)
        finished = self._with_room(module, options)
        return Compiled(finished, ordered, emit_module(finished))

    @staticmethod
    def _with_room(module: Any, options: Options) -> Any:
        """The module compiled to the end, with as much of local memory for values as kernels leave over.

        Raises CapacityError if the least is still too much.
        """
        start = position()
        for room in ROOMS:
            rewind(start)
            if room > options.room:
                continue
            trial = _copy(module)
            entries = _entries(replace(options, room=room))
            try:
                Pipeline(tuple(entries[[entry.name for entry in entries].index(SPILLS) :])).run(trial)
            except CapacityError:
                if room == ROOMS[-1]:
                    raise
            else:
                return trial
        raise AssertionError("there is a last room")


def shortest(module: Any, options: Options) -> Compiled:
    """A module that stands before `FIRST_STAGE`, compiled so that it takes the fewest cycles, then steps, of all that
    is tried. The module itself stays as it is.

    Raises CompileError as the stages do with the preferences that are tried first.
    """
    search = _Search(module, options)
    settled: set[Preference] = {ALIKE} if largest_tensor(module) <= TINY else set()
    best = search.compiled(settled)
    assert best is not None  # the first is new
    if best.text.count("\n") > MOST_STATEMENTS or best.length[0] < LEAST_CYCLES:
        choose_attempt(", ".join(best.preferences))
        return best
    for preference in PREFERENCES:
        if preference in settled:
            continue
        try:
            other = search.compiled({*best.preferences, preference})
        except CompileError:  # there is no room for tensors that lie so
            continue
        if other is not None and other.length < best.length:
            best = other
    choose_attempt(", ".join(best.preferences))
    return best


def largest_tensor(module: Any) -> int:
    """Elements of the largest tensor that the operations of a module's functions take or make."""
    sizes = [0]
    for function in module.body.operations:
        for block in (block for region in function.operation.regions for block in region.blocks):
            values = [*block.arguments, *(value for op in block.operations for value in op.operation.results)]
            types = [value.type for value in values if isinstance(value.type, ir.RankedTensorType)]
            sizes += [prod(ir.RankedTensorType(type_).shape) for type_ in types]
    return max(sizes)


def _copy(module: Any) -> Any:
    with module.context, ir.Location.unknown():
        copy = ir.Module.create()
        for op in module.body.operations:
            copy.body.append(op.operation.clone())
        return copy


def take_over(module: Any, other: Any) -> None:
    """Put what another module holds in the place of what a module holds."""
    for op in list(module.body.operations):
        op.operation.erase()
    for op in list(other.body.operations):
        op.operation.detach_from_parent()
        module.body.append(op)


def note_preferences(module: Any, preferences: tuple[Preference, ...]) -> None:
    """Note on a compiled module what was preferred."""
    with module.context:
        module.operation.attributes[NOTE] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in preferences])


def preferences_of(module: Any) -> tuple[str, ...]:
    """What was preferred in a compiled module, as far as it was noted."""
    attributes = module.operation.attributes
    return tuple(ir.StringAttr(name).value for name in attributes[NOTE]) if NOTE in attributes else ()
