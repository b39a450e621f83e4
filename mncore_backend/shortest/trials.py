"""One module compiled again and again, each time with other preferences about layouts and as much of local memory as
there is room for."""

import typing
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.both import both, has_processor
from mnc.core.diagnostics import CompileError
from mnc.core.modules import copy_module, module_bytes
from mnc.core.nesting_pass import run_nested
from mnc.core.recording import (
    Attempt,
    begin_attempt,
    compared,
    keep_also,
    kept_by,
    position,
    resume_attempt,
    rewind,
    share_attempts,
    wants_trace,
)
from mnc.lowering.linalg_to_spmd.layout_attributes import PRICE
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.codegen.allocation.allocate import CapacityError
from mnc.mncore_backend.codegen.emit import emit_module
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.mncore_backend.codegen.scheduling import TooLongError
from mnc.mncore_backend.placement.preferences import Preference

PREFERENCES: tuple[Preference, ...] = typing.get_args(Preference)
"""In the order in which they are changed: the first gains most."""
ROUGH = 1.2
"""Factor by which each preference has to make a program cheaper: prices are rough."""
SLACK = 12
"""Percent of local memory by which what is needed at once may be reckoned too large."""
DECISION, SPILLS, ORDER, SCHEDULE = "assign-layouts", "spill-buffers", "order-operations", "schedule"
"""Passes whose options are varied: preferences, room for values, cycles after which a program is given up."""
Passes = tuple[Any, ...]


def with_options(passes: Passes, name: str, **options: Any) -> Passes:
    """Passes, those of this name with other options."""
    return tuple(replace(entry, **options) if entry.name == name else entry for entry in passes)


def place_of(passes: Passes, name: str) -> int:
    """The number of the first pass of a name; behind the last where there is none."""
    return next((number for number, entry in enumerate(passes) if entry.name == name), len(passes))


@dataclass(frozen=True)
class Compiled:
    """A scheduled module, the preferences and the passes that led to it, and its text; one trip of a program that is
    repeated. `loads_constants`: every run loads some, beside tables of movements."""

    module: Any
    preferences: tuple[Preference, ...]
    passes: Passes
    text: str
    loads_constants: bool

    @cached_property
    def length(self) -> tuple[int, int]:
        """Its cycles and steps."""
        cost = cost_of(parse_program(self.text))
        return cost.cycles, cost.steps


@dataclass(frozen=True)
class Learned:
    """What a copy of this process has found out: prices, texts of layouts, and what programs with these became: modules
    as bytes, or why there is none."""

    steps: dict[tuple[Preference, ...], float]
    layouts: dict[tuple[Preference, ...], str]
    programs: dict[str, "Compiled | str"]
    attempts: list[Attempt]


class Trials:
    """Compiles a module again and again with `passes`. `rooms`: percent of local memory for values, falling."""

    def __init__(self, module: Any, passes: Passes, rooms: tuple[int, ...]) -> None:
        self.module = module
        self.passes = passes
        self.rooms = rooms
        self.seen: dict[str, Compiled | CompileError] = {}  # by the text of the layouts
        self.layouts: dict[tuple[Preference, ...], str] = {}  # the texts that preferences lead to
        self.decided: dict[tuple[Preference, ...], Any] = {}  # modules with layouts that nothing has been made of yet
        self.steps: dict[tuple[Preference, ...], float] = {}

    @cached_property
    def _undecided(self) -> Any:
        """The module before preferences make a difference."""
        share_attempts()
        module = copy_module(self.module)
        run_nested(self.passes[: place_of(self.passes, DECISION)], module)
        return module

    def _with_layouts(self, ordered: tuple[Preference, ...]) -> Any:
        """The module with the layouts that these preferences lead to."""
        if ordered not in self.decided:
            module = copy_module(self._undecided)
            begin_attempt(", ".join(ordered))
            passes = with_options(self.passes, DECISION, prefer=ordered)
            run_nested((entry for entry in passes if entry.name == DECISION), module)
            functions = [function.operation.attributes for function in module.body.operations]
            self.steps[ordered] = sum(ir.FloatAttr(own[PRICE]).value for own in functions if PRICE in own)
            self.decided[ordered] = module
        return self.decided[ordered]

    def price(self, preferences: Collection[Preference]) -> float:
        """Steps that the program takes with these preferences, by the prices that decide about layouts, and a surcharge
        for each preference; infinitely many where there is no room."""
        ordered = in_order(preferences)
        if ordered not in self.steps:
            try:
                self._with_layouts(ordered)
            except CapacityError:
                return inf
        return self.steps[ordered] * ROUGH ** len(ordered)

    def compiled(self, preferences: Collection[Preference], best: Compiled | None = None) -> Compiled:
        """The program with these preferences, made once where several lead to the same layouts. Raises CompileError
        where there is no room, or no hope of being shorter than the best so far."""
        ordered = in_order(preferences)
        is_new = self.layouts.get(ordered) not in self.seen and self._is_new(ordered, best)
        found = self.seen[self.layouts[ordered]]
        if isinstance(found, CompileError):
            compared(ordered, "refused", reason=found.message)
            raise found
        compared(ordered, "compiled" if is_new else "equal", cycles=found.length[0], steps=found.length[1])
        return replace(found, preferences=ordered)

    def _is_new(self, ordered: tuple[Preference, ...], best: Compiled | None) -> bool:
        """Make the program with these preferences, if no others have led to the same layouts."""
        module = self._with_layouts(ordered)
        del self.decided[ordered]
        resume_attempt(", ".join(ordered))
        self.layouts[ordered] = layouts = _without_prices(module)
        if layouts in self.seen:
            return False
        try:
            self.seen[layouts] = self._made(module, ordered, best)
        except CompileError as error:
            self.seen[layouts] = error.with_traceback(None)  # whose frames would keep modules
        return True

    def at_once(self, here: Callable[[], object], there: Callable[[], object]) -> None:
        """Do two pieces of work that ask for programs at the same time, so that what they ask for is known afterwards:
        the second in a copy of this process. Where there is no processor for it, or every decision is traced, do
        nothing: whoever wants to know then asks for one after the other."""
        if has_processor() and not wants_trace():
            self._learn(both(here, lambda: self._learned(there))[1])

    def _learned(self, work: Callable[[], object]) -> Learned:
        """What is known after this work, and was not before."""
        before = self.steps.keys() | (), self.layouts.keys() | (), self.seen.keys() | ()
        attempts = kept_by(work)
        programs = {text: _packed(found) for text, found in self.seen.items() if text not in before[2]}
        return Learned(
            {key: self.steps[key] for key in self.steps if key not in before[0]},
            {key: self.layouts[key] for key in self.layouts if key not in before[1]},
            {text: packed for text, packed in programs.items() if packed is not None},
            attempts,
        )

    def _learn(self, learned: Learned) -> None:
        """Know what a copy of this process has found out, beside what is known here."""
        self.steps = learned.steps | self.steps
        self.layouts = learned.layouts | self.layouts
        for text, packed in learned.programs.items():
            self.seen.setdefault(text, _unpacked(packed, self.module.context))
        keep_also(learned.attempts)

    def _made(self, module: Any, ordered: tuple[Preference, ...], best: Compiled | None) -> Compiled:
        """The program that a module with layouts becomes."""
        passes = with_options(self.passes, DECISION, prefer=ordered)
        with events.span("stage", f"layouts: {', '.join(ordered) or 'plain'}"):
            run_nested(passes[place_of(passes, DECISION) + 1 : place_of(passes, SPILLS)], module)
            loads_constants = _loads_constants(module)
            finished, room = self._with_room(module, None if best is None else best.length[0])
            passes = with_options(passes, SPILLS, percent=room)
            return Compiled(finished, ordered, passes, emit_module(finished, most=1), loads_constants)

    def _with_room(self, module: Any, best: int | None) -> tuple[Any, int]:
        """The module compiled to the end, with as much of local memory for values as kernels leave over, in percent.

        Raises CapacityError if the least is still too much, and TooLongError if there is no hope that it takes fewer
        cycles than the `best`.
        """
        start = position()
        last = with_options(self.passes[place_of(self.passes, SPILLS) :], SCHEDULE, below=best)
        last = with_options(last, ORDER, below=best)
        largest = next((entry.percent for entry in last if entry.name == SPILLS), 0)
        refusal: CapacityError | None = None
        for room in self.rooms:
            rewind(start)
            if room > max(largest, self.rooms[-1]):
                continue
            trial = copy_module(module)
            try:
                run_nested(with_options(last, SPILLS, percent=room), trial)
            except CapacityError as error:
                if room == self.rooms[-1]:
                    raise
                # Nothing much above what the numbers say would do: every trial takes as long as the first.
                largest = room * error.available // error.needed + SLACK
                if refusal is not None and (refusal.needed, refusal.buffers) == (error.needed, error.buffers):
                    largest = self.rooms[-1]  # a little less room for values changes nothing there
                refusal = error
            else:
                return trial, room
        raise AssertionError("there is a last room")


def _packed(found: Compiled | CompileError) -> Compiled | str | None:
    """A program that can be pickled, or why there is none; None for mistakes, which are met again by who asks."""
    if isinstance(found, Compiled):
        return replace(found, module=module_bytes(found.module))
    return found.message if isinstance(found, CapacityError | TooLongError) else None


def _unpacked(packed: Compiled | str, context: Any) -> Compiled | CompileError:
    """The inverse. What had no room, or took too long, counts as too long: neither is a program."""
    if isinstance(packed, str):
        return TooLongError(packed)
    return replace(packed, module=ir.Module.parse(packed.module, context=context))


def _loads_constants(module: Any) -> bool:
    """Whether a distributed module loads constants."""
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    loads = [op for f in functions for op in f.regions[0].blocks[0].operations if op.operation.name == "mncore.dl"]
    return any(getattr(op.operands[0].owner, "name", "") == "mncore.constant" for op in loads)


def in_order(preferences: Collection[Preference]) -> tuple[Preference, ...]:
    """Preferences in the order of `PREFERENCES`, each once."""
    return tuple(name for name in PREFERENCES if name in preferences)


def _without_prices(module: Any) -> str:
    """The text of a module, but for what its layouts cost: equal layouts may have been found at other prices."""
    plain = copy_module(module)
    for function in plain.body.operations:
        if PRICE in function.operation.attributes:
            del function.operation.attributes[PRICE]
    return plain.operation.get_asm(large_elements_limit=16, large_resource_limit=16)
