"""A small program is compiled with several preferences about layouts, and the shortest is kept.

Prices of layouts are rough, schedules are exact. Preferences are changed one after the other, on top of the changes
that have made the program shorter so far; layouts that were compiled before are not compiled again. Where tensors are
tiny, one preference is known to be right, and most programs are compiled once.
"""

import typing
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf, prod
from typing import Any

from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.recording import (
    begin_attempt,
    choose_attempt,
    compared,
    position,
    resume_attempt,
    rewind,
    share_attempts,
)
from mnc.lowering.linalg_to_spmd.layout_attributes import PRICE
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.codegen.allocation.allocate import CapacityError
from mnc.mncore_backend.codegen.emit import emit_module
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.mncore_backend.codegen.schedule import Schedule
from mnc.mncore_backend.codegen.scheduling import TooLongError
from mnc.mncore_backend.placement.candidates import Preference
from mnc.mncore_backend.placement.preferences import NEXT, TOGETHER
from mnc.mncore_backend.target import LONG_BYTES, WORD_BYTES, chip
from mnc.options import Options
from mnc.stages import STAGES, Pipeline, stage_pipeline

PREFERENCES: tuple[Preference, ...] = typing.get_args(Preference)
"""In the order in which they are changed: the first gains most."""
ALIKE: Preference = "alike"
STARTS: tuple[tuple[Preference, ...], ...] = (), ("tensor-parallel",), ("cyclic",), ("tensor-parallel", "cyclic")
"""Preferences of which the cheapest by its price is compiled, where operations are placed one after the other."""
ROUGH = 1.2
"""Factor by which each preference has to make a program cheaper: prices are rough."""
FIRST_STAGE, DECISION = "spmd", "assign-layouts"
MOST_STATEMENTS = 3000
"""Programs that are longer without preferences are compiled once: several compilations would take too long."""
MOST_COMPARED = 10_000
"""Statements of a program up to which it is compiled twice: with all operations placed together, and one by one."""
CLOSE = 1.1
"""Factor of the cycles of the best program up to which rules are tried on top of one that is placed one by one."""
HOPELESS = 1.25
"""Factor of the cycles of the best program at which the schedule of another is given up: the first schedule of a
program may still become shorter, by a few percent."""
DEARER = 1.8
"""Factor of the price of what is placed together at which the same with another preference is not compiled: both prices
come from one search."""
LEAST_CYCLES = 1000
"""Programs that take less are compiled once: they load, work and store, and hardly wait otherwise."""
BUSY_CYCLES = 2500
"""Programs of small tensors that take as many do not only wait: they are compiled with all operations placed together,
too."""


def tiny() -> int:
    """Elements of a tensor that gives the PEs of one L2B two long words. To split less than that over L2Bs saves a step
    or two of work, and what has to be exchanged later passes PDM."""
    return 2 * chip().pes // chip().l2bs * LONG_BYTES // WORD_BYTES


def small() -> int:
    """Elements of a tensor up to which operations are placed one after the other: what such programs wait for decides
    about them, and their preferences are tried out."""
    return 8 * tiny()

NOTE = "mnc.preferences"


REGIONS = (36, 24, 16)
"""Percent of all local memory that an operation may take before its chain is done part by part: less is tried where
one operation, as it is laid out, finds no room in a PE."""
ROOMS = (100, 88, 75, 62, 50)
"""Percent of local memory that values take at once: less is tried where kernels find no room beside them."""
SLACK = 12
"""Percent of local memory by which what is needed at once may be reckoned too large."""
SPILLS = "spill-buffers"


def _entries(options: Options) -> list[Any]:
    """The passes from `FIRST_STAGE` on."""
    stages = list(STAGES)[list(STAGES).index(FIRST_STAGE) :]
    return [entry for name in stages for entry in stage_pipeline(name, options).entries]


@dataclass(frozen=True)
class Compiled:
    """A scheduled module, the preferences that led to it, and its text; one trip of a program that is repeated."""

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
        self.seen: dict[str, Compiled | CompileError] = {}  # by the text of the layouts
        self.decided: dict[tuple[Preference, ...], Any] = {}  # modules with layouts that nothing has been made of yet
        self.steps: dict[tuple[Preference, ...], float] = {}

    @cached_property
    def _undecided(self) -> Any:
        """The module before preferences make a difference."""
        share_attempts()
        entries = _entries(self.options)
        module = copy_module(self.module)
        Pipeline(tuple(entries[: [entry.name for entry in entries].index(DECISION)])).run(module)
        return module

    def _with_layouts(self, ordered: tuple[Preference, ...]) -> Any:
        """The module with the layouts that these preferences lead to."""
        if ordered not in self.decided:
            module = copy_module(self._undecided)
            begin_attempt(", ".join(ordered))
            entries = _entries(replace(self.options, prefer=ordered))
            Pipeline(tuple(entry for entry in entries if entry.name == DECISION)).run(module)
            functions = [function.operation.attributes for function in module.body.operations]
            self.steps[ordered] = sum(ir.FloatAttr(own[PRICE]).value for own in functions if PRICE in own)
            self.decided[ordered] = module
        return self.decided[ordered]

    def starts(self) -> Iterator[tuple[Preference, ...]]:
        """Preferences of which the first with which there is room is compiled first, and alone where the program is
        long."""
        if largest_tensor(self.module) > small():
            yield (TOGETHER,)
        yield from sorted(STARTS, key=self.price)

    def cheapest_start(self) -> tuple[Preference, ...]:
        """The best preferences by their prices, where operations are placed one after the other."""
        return min(STARTS, key=self.price)

    def price(self, preferences: Collection[Preference]) -> float:
        """Steps that the program takes with these preferences, by the prices that decide about layouts, and a surcharge
        for each preference; infinitely many where there is no room."""
        ordered = _ordered(preferences)
        if ordered not in self.steps:
            try:
                self._with_layouts(ordered)
            except CapacityError:
                return inf
        return self.steps[ordered] * ROUGH ** len(ordered)

    def compiled(self, preferences: Collection[Preference], best: Compiled | None = None) -> Compiled:
        """The program with these preferences, made once where several lead to the same layouts. Raises CompileError
        where there is no room, or no hope of being shorter than the best so far."""
        ordered = _ordered(preferences)
        module = self._with_layouts(ordered)
        del self.decided[ordered]
        resume_attempt(", ".join(ordered))
        layouts = _without_prices(module)
        is_new = layouts not in self.seen
        if is_new:
            try:
                self.seen[layouts] = self._made(module, ordered, best)
            except CompileError as error:
                self.seen[layouts] = error.with_traceback(None)  # whose frames would keep modules
        found = self.seen[layouts]
        if isinstance(found, CompileError):
            compared(ordered, "refused", reason=found.message)
            raise found
        compared(ordered, "compiled" if is_new else "equal", cycles=found.length[0], steps=found.length[1])
        return replace(found, preferences=ordered)

    def _made(self, module: Any, ordered: tuple[Preference, ...], best: Compiled | None) -> Compiled:
        """The program that a module with layouts becomes."""
        options = replace(self.options, prefer=ordered)
        entries = _entries(options)
        names = [entry.name for entry in entries]
        decided, spills = names.index(DECISION) + 1, names.index(SPILLS)
        with events.span("stage", f"layouts: {', '.join(ordered) or 'plain'}"):
            Pipeline(tuple(entries[decided:spills])).run(module)
            finished = self._with_room(module, options, None if best is None else int(HOPELESS * best.length[0]))
            return Compiled(finished, ordered, emit_module(finished, most=1))

    @staticmethod
    def _with_room(module: Any, options: Options, most: int | None) -> Any:
        """The module compiled to the end, with as much of local memory for values as kernels leave over.

        Raises CapacityError if the least is still too much, and TooLongError if it takes more than `most` cycles.
        """
        start = position()
        largest = options.room
        for room in ROOMS:
            rewind(start)
            if room > max(largest, ROOMS[-1]):
                continue
            trial = copy_module(module)
            entries = _entries(replace(options, room=room))
            last = entries[[entry.name for entry in entries].index(SPILLS) :]
            try:
                Pipeline(tuple(replace(e, most=most) if isinstance(e, Schedule) else e for e in last)).run(trial)
            except CapacityError as error:
                if room == ROOMS[-1]:
                    raise
                # Nothing much above what the numbers say would do: every trial takes as long as the first.
                largest = room * error.available // error.needed + SLACK
            else:
                return trial
        raise AssertionError("there is a last room")


def shortest(module: Any, options: Options) -> Compiled:
    """A module that stands before `FIRST_STAGE`, compiled so that it takes the fewest cycles, then steps, of all that
    is tried. The module itself stays as it is.

    Raises CompileError as the stages do with the preferences that are tried first.
    """
    settled: set[Preference] = {ALIKE} if largest_tensor(module) <= tiny() else set()
    search, best = _with_regions(module, options, settled)
    if TOGETHER not in best.preferences:
        best = _with_rules(search, best, settled)
        if best.text.count("\n") > MOST_STATEMENTS and ALIKE not in settled:
            best = _shorter(search, best, {ALIKE})  # long with small tensors: steps of a recurrence wait for exchanges
        if best.length[0] >= BUSY_CYCLES and best.text.count("\n") <= MOST_COMPARED:
            best = _shorter(search, best, {TOGETHER})
    elif best.text.count("\n") <= MOST_COMPARED:
        if best.text.count("\n") <= MOST_STATEMENTS:
            best = _shorter(search, best, {TOGETHER, ALIKE})
        for other in NEXT:
            best = _shorter(search, best, {TOGETHER, other})
        try:
            one_by_one = search.compiled(search.cheapest_start(), best)
        except (CapacityError, TooLongError):
            one_by_one = None
        if one_by_one is not None and one_by_one.length[0] <= CLOSE * best.length[0]:
            best = min(best, _with_rules(search, one_by_one, settled), key=lambda own: own.length)
    choose_attempt(", ".join(best.preferences))
    return best


def _with_rules(search: _Search, best: Compiled, settled: Collection[Preference]) -> Compiled:
    """A program whose operations are placed one after the other, with the rules that make it shorter."""
    if best.text.count("\n") > MOST_STATEMENTS or best.length[0] < LEAST_CYCLES:
        return best
    for preference in PREFERENCES:
        if preference not in (*settled, TOGETHER, *NEXT):
            best = _shorter(search, best, {*best.preferences, preference})
    return best


def _shorter(search: _Search, best: Compiled, preferences: Collection[Preference]) -> Compiled:
    """The better of a program and the one with other preferences."""
    price, least = search.price(preferences), search.price(best.preferences)
    if TOGETHER in best.preferences and price > DEARER * least:
        compared(_ordered(preferences), "dear", reason=f"its price is {price:,.0f}, that of the best {least:,.0f}")
        return best
    try:
        other = search.compiled(preferences, best)
    except CompileError:  # there is no room for tensors that lie so, or it takes too long
        return best
    return other if other.length < best.length else best


def _with_regions(module: Any, options: Options, settled: Collection[Preference]) -> tuple[_Search, Compiled]:
    """A search and its first program, with parts of large tensors as large as there is room for."""
    regions = [options.region, *(percent for percent in REGIONS if percent < options.region)]
    for region in regions:
        search = _Search(module, replace(options, region=region))
        starts = chain([settled] if settled else [], search.starts())
        try:
            return search, _first(search, starts)
        except CapacityError:
            if region == regions[-1]:
                raise
    raise ValueError("there is nothing to start with")


def _first(search: _Search, starts: Iterable[Collection[Preference]]) -> Compiled:
    """The program with the first of these preferences with which there is room for it. Raises CapacityError."""
    refusal: CapacityError | None = None
    for preferences in starts:
        try:
            return search.compiled(preferences)
        except CapacityError as error:
            refusal = refusal or error
    assert refusal is not None  # the first has led to a program or to a refusal
    raise refusal


def _without_prices(module: Any) -> str:
    """The text of a module, but for what its layouts cost: equal layouts may have been found at other prices."""
    plain = copy_module(module)
    for function in plain.body.operations:
        if PRICE in function.operation.attributes:
            del function.operation.attributes[PRICE]
    return plain.operation.get_asm(large_elements_limit=16, large_resource_limit=16)


def _ordered(preferences: Collection[Preference]) -> tuple[Preference, ...]:
    return tuple(name for name in PREFERENCES if name in preferences)


def largest_tensor(module: Any) -> int:
    """Elements of the largest tensor that the operations of a module's functions take or make."""
    sizes = [0]
    for function in module.body.operations:
        for block in (block for region in function.operation.regions for block in region.blocks):
            values = [*block.arguments, *(value for op in block.operations for value in op.operation.results)]
            types = [value.type for value in values if isinstance(value.type, ir.RankedTensorType)]
            sizes += [prod(ir.RankedTensorType(type_).shape) for type_ in types]
    return max(sizes)


def copy_module(module: Any) -> Any:
    """A module with copies of all operations."""
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
