"""shortest: a program is compiled with several preferences about layouts, and the shortest is kept.

before:  linalg on tensors
after:   what the passes inside make of it, as shortest{...}(drop-empty,...,assign-layouts,...,verify-schedule), with
         the options of `assign-layouts`, `tile-regions`, `tile-contractions` and `spill-buffers` that led to the
         fewest cycles

Prices of layouts are rough, schedules are exact. Layouts that were compiled before are not compiled again. Where
tensors are tiny, one preference is known to be right, and most programs are compiled once.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.diagnostics import CompileError
from mnc.core.modules import take_over
from mnc.core.nesting_pass import NestingPass, inherited, run_nested
from mnc.core.pass_base import at_least
from mnc.core.recording import choose_attempt, compared, unrecorded
from mnc.lowering.linalg_to_spmd.layout_attributes import note_preferences
from mnc.mncore_backend.codegen.allocation.allocate import CapacityError
from mnc.mncore_backend.codegen.scheduling import TooLongError
from mnc.mncore_backend.placement.preferences import NEXT, TOGETHER, WHOLE_AXES, Preference
from mnc.mncore_backend.shortest.shared_axes import contracts_several
from mnc.mncore_backend.shortest.sizes import largest_tensor, operations
from mnc.mncore_backend.shortest.trials import (
    DECISION,
    SCHEDULE,
    Compiled,
    Passes,
    Trials,
    in_order,
    place_of,
    with_options,
)
from mnc.mncore_backend.target import chip

ALIKE: Preference = "alike"
STARTS: tuple[tuple[Preference, ...], ...] = (), ("tensor-parallel",), ("cyclic",), ("tensor-parallel", "cyclic")
"""Preferences of which the cheapest by its price is compiled, where operations are placed one after the other."""
FEW = 2
"""Solutions beside the first that are compiled of programs that are not short."""
REGIONS, TILES, RESIDENTS = "tile-regions", "tile-contractions", "keep-resident"
CLOSE = 1.1
"""Factor of the cycles of the best program up to which one that is placed one by one is also compiled so that all L2Bs
do the same."""
DEARER = 1.8
"""Factor of the price of what is placed together at which the same with another preference is not compiled: both prices
come from one search."""

DEARER_ONE_BY_ONE = 2.2
"""The same for what is placed one by one. Of 20 programs of many operations the one that was shorter at the highest
price had 2 times that of the search; of few operations, which compile in a second, one had 6 times that."""
FEW_OPERATIONS = 32
"""Operations of a program up to which it is compiled with these placed one by one, whatever the price."""
NOT_SHORT = 600
"""Price of a program of small tensors, placed one by one, from which on it takes more than `least_cycles` for sure, so
that the search comes first: what it finds says whether the other is worth compiling."""
MOST_AT_ONCE = 2048
"""Operations of a program up to which this is so: the search would take minutes for more."""
MANY = 512
"""Operations of a program from which it is also compiled with one operation placed after the other so that all L2Bs do
the same, if it is likely to be a recurrence of many steps: an exchange in each of them may be what it waits for."""
SMALL_EACH = 64
"""Steps for each operation up to which that is likely. Five recurrences took 7 to 31 of them, a DenseNet 117."""


def small() -> int:
    """Elements of a tensor up to which operations are placed one after the other: what such programs wait for decides
    about them, and their preferences are tried out."""
    return 8 * chip().tiny_elements


@dataclass(frozen=True)
class Shortest(NestingPass):
    """Run passes with several preferences about layouts, and keep the program that takes the fewest cycles.

    `assign-layouts` and `schedule` have to be among the passes. Where all operations are placed together, the next
    solutions of that search are compiled, too: two for programs of up to ``most_statements``, five up to
    ``few_statements``, and these are also compiled with one operation placed after the other, and so that all L2Bs do
    the same. Where products contract several dimensions, which may share axes, as images and their rows,
    programs of up to ``most_by_axes`` statements are also compiled with axes left to one.

    Programs of small tensors have their operations placed one after the other at first, unless their price says that
    they are not that short. Below ``least_cycles`` nothing else is tried: such programs load, work and store, and
    hardly wait otherwise. Above, up to ``most_statements``, they are compiled with all operations placed together, too.

    ``regions``: percent of all local memory that an operation may take before its chain is done part by part; less than
    `tile-regions` says is tried where one operation, as it is laid out, finds no room in a PE, and as little for
    factors before `tile-contractions` cuts them. ``rooms``: percent of local memory that values take at once, at most
    what `spill-buffers` says; less is tried where kernels find no room beside them. ``constants``: percent of local
    memory for constants that stay there between runs, where what `keep-resident` says leaves too little room for the
    work. Where not all constants stay, the program is also compiled as if none did, because the room may be worth more
    than what stays in it.
    """

    name: ClassVar[str] = "shortest"
    few_statements: int = at_least(0, 3000)
    most_statements: int = at_least(0, 8000)
    most_by_axes: int = at_least(0, 20_000)
    least_cycles: int = at_least(0, 1000)
    regions: tuple[int, ...] = (36, 24, 16)
    rooms: tuple[int, ...] = (100, 88, 75, 62, 50)
    constants: tuple[int, ...] = (60, 35)

    def run(self, module: Any) -> None:
        """Replace the module by its shortest program, and note on it what was preferred. Raises CompileError as the
        passes do with the preferences that are tried first."""
        names = [entry.name for entry in self.passes]
        for needed in (DECISION, SCHEDULE):
            if needed not in names:
                message = f"shortest has no pass '{needed}' inside, without which there is nothing to compare"
                raise CompileError(message, hint=f"write shortest({DECISION},...,{SCHEDULE}), as in docs/pipeline.md")
        best = self.best(module)
        if inherited().observers:
            with unrecorded():  # as it was recorded before
                run_nested(best.passes, module, is_observed=True)
        else:
            take_over(module, best.module)
        note_preferences(module, best.preferences)

    def best(self, module: Any) -> Compiled:
        """The program of a module that takes the fewest cycles, then steps, of all that is tried; the module itself
        stays as it is. Raises CompileError as `run`."""
        settled: set[Preference] = {ALIKE} if largest_tensor(module) <= chip().tiny_elements else set()
        trials, best = self._with_regions(module, settled)
        if TOGETHER not in best.preferences:
            best = self._one_by_one(trials, best, settled)
        else:
            whole: list[Collection[Preference]] = [(TOGETHER, ALIKE)] if settled else []
            if best.text.count("\n") <= self.most_by_axes and contracts_several(module):
                whole.append((TOGETHER, WHOLE_AXES))
            if operations(module) > MANY and best.length[1] <= SMALL_EACH * operations(module):
                whole.append((ALIKE,))
            if best.text.count("\n") <= self.most_statements:
                best = self._together(trials, best, settled, whole)
            else:
                best = _shortest(trials, best, whole)
        choose_attempt(", ".join(best.preferences))
        return best

    def _one_by_one(self, trials: Trials, best: Compiled, settled: Collection[Preference]) -> Compiled:
        """The best program where the first places one operation after the other."""
        best = self._also_alike(trials, best, settled)
        if best.text.count("\n") > self.few_statements and ALIKE not in settled:
            best = _shortest(trials, best, [(ALIKE,)])  # long with small tensors: steps of a recurrence wait
        if best.length[0] >= self.least_cycles and best.text.count("\n") <= self.most_statements:
            # What makes a program shorter one way may do so the other way, too.
            alike: list[Collection[Preference]] = [(TOGETHER, ALIKE)] if ALIKE in best.preferences else []
            best = _shortest_of_two(trials, best, [(TOGETHER,)], alike)
            if best.text.count("\n") <= self.few_statements:
                best = _shortest_of_two(trials, best, [(TOGETHER, NEXT[0])], [(TOGETHER, other) for other in NEXT[1:]])
        return best

    def _together(
        self,
        trials: Trials,
        best: Compiled,
        settled: Collection[Preference],
        whole: Sequence[Collection[Preference]],
    ) -> Compiled:
        """The best program where the first places all operations together: that, the next solutions of its search, one
        of `whole`, which are other ways to do so, or, of a short program, one with operations placed one by one."""
        is_short = best.text.count("\n") <= self.few_statements
        others: list[Collection[Preference]] = [(TOGETHER, other) for other in (NEXT if is_short else NEXT[:FEW])]
        if not is_short:
            return _shortest_of_two(trials, best, others, whole)
        first = best
        trials.at_once(
            lambda: _shortest(trials, first, others),
            lambda: _placed_one_by_one(trials, _shortest(trials, first, whole), settled),
        )
        best = _shortest(trials, best, [*others, *whole])
        one_by_one = _placed_one_by_one(trials, best, settled)
        if one_by_one is None or one_by_one.length[0] > CLOSE * best.length[0]:
            return best
        return min(best, self._also_alike(trials, one_by_one, settled), key=lambda own: own.length)

    def _also_alike(self, trials: Trials, best: Compiled, settled: Collection[Preference]) -> Compiled:
        """A short program whose operations are placed one after the other, or the same where all L2Bs do the same if
        that is better: prices know little of what waits for an exchange between them."""
        is_short = best.text.count("\n") <= self.few_statements and best.length[0] >= self.least_cycles
        return _shorter(trials, best, {*best.preferences, ALIKE}) if is_short and ALIKE not in settled else best

    def _with_regions(self, module: Any, settled: Collection[Preference]) -> tuple[Trials, Compiled]:
        """Trials and their first program, with parts of large tensors as large as there is room for."""
        parted = list(self._parted())
        for passes in parted:
            try:
                trials, best = self._first_of(module, passes, settled)
            except CapacityError:
                if passes is parted[-1]:
                    raise
                continue
            if _keeps_constants(passes) and best.loads_constants:
                with suppress(CapacityError):
                    others, other = self._first_of(module, _without_constants(passes), settled)
                    if other.length < best.length:
                        return others, other
            return trials, best
        raise AssertionError("there is one way at least")

    def _first_of(self, module: Any, passes: Passes, settled: Collection[Preference]) -> tuple[Trials, Compiled]:
        trials = Trials(module, passes, self.rooms or (100,))
        return trials, _first(trials, _starts(trials, settled))

    def _parted(self) -> Iterator[Passes]:
        """The passes, with fewer and fewer constants that stay on the chip between runs, and then with parts of large
        tensors that become smaller and smaller."""
        yield (passes := self.passes)
        if _keeps_constants(passes):
            place = place_of(passes, RESIDENTS)
            for percent in self.constants:
                if percent < passes[place].percent:
                    yield with_options(passes, RESIDENTS, percent=percent)
            yield (passes := _without_constants(passes))
        if (place := place_of(passes, REGIONS)) < len(passes):
            for percent in self.regions:
                if percent < passes[place].percent:
                    smaller = with_options(passes, REGIONS, percent=percent)
                    tiles = [entry.percent for entry in passes if entry.name == TILES]
                    yield with_options(smaller, TILES, percent=min([percent, *tiles]))


def _keeps_constants(passes: Passes) -> bool:
    """Whether constants may stay on the chip between runs."""
    place = place_of(passes, RESIDENTS)
    return place < len(passes) and passes[place].keeps_constants


def _without_constants(passes: Passes) -> Passes:
    """The same, but all constants are loaded in every run."""
    return with_options(with_options(passes, RESIDENTS, percent=0), DECISION, constants=0)


def _starts(trials: Trials, settled: Collection[Preference]) -> Iterator[Collection[Preference]]:
    """Preferences of which the first with which there is room is compiled first; long programs are compiled only so."""
    if largest_tensor(trials.module) > small() or _is_worth_a_search(trials, settled):
        yield (TOGETHER,)
    if settled:
        yield settled
    yield from sorted(STARTS, key=trials.price)


def _is_worth_a_search(trials: Trials, settled: Collection[Preference]) -> bool:
    """Whether a program of small tensors takes so many steps, placed one by one, that it will be placed together."""
    return operations(trials.module) <= MOST_AT_ONCE and trials.price(settled) > NOT_SHORT


def _first(trials: Trials, starts: Iterable[Collection[Preference]]) -> Compiled:
    """The program with the first of these preferences with which there is room for it. Raises CapacityError."""
    refusal: CapacityError | None = None
    for preferences in starts:
        try:
            return trials.compiled(preferences)
        except CapacityError as error:
            refusal = refusal or error
    assert refusal is not None  # the first has led to a program or to a refusal
    raise refusal


def _placed_one_by_one(trials: Trials, best: Compiled, settled: Collection[Preference]) -> Compiled | None:
    """The cheapest program with one operation placed after the other; None if there is no room, or no hope."""
    cheapest = settled or min(STARTS, key=trials.price)
    has_many = operations(trials.module) > FEW_OPERATIONS
    if has_many and trials.price(cheapest) > DEARER_ONE_BY_ONE * trials.price((TOGETHER,)):
        return None
    try:
        return trials.compiled(cheapest, best)
    except (CapacityError, TooLongError):
        return None


def _shortest_of_two(
    trials: Trials, best: Compiled, here: Sequence[Collection[Preference]], there: Sequence[Collection[Preference]]
) -> Compiled:
    """`_shortest` of all these preferences, some of which are tried at the same time as the others. Where there are no
    others, the searches and schedules of these have both processors."""
    if there:
        trials.at_once(lambda: _shortest(trials, best, here), lambda: _shortest(trials, best, there))
    return _shortest(trials, best, [*here, *there])


def _shortest(trials: Trials, best: Compiled, others: Iterable[Collection[Preference]]) -> Compiled:
    """The best of a program and those with other preferences."""
    for preferences in others:
        best = _shorter(trials, best, preferences)
    return best


def _shorter(trials: Trials, best: Compiled, preferences: Collection[Preference]) -> Compiled:
    """The better of a program and the one with other preferences."""
    price, least = trials.price(preferences), trials.price(best.preferences)
    if TOGETHER in best.preferences and price > DEARER * least:
        compared(in_order(preferences), "dear", reason=f"its price is {price:,.0f}, that of the best {least:,.0f}")
        return best
    try:
        other = trials.compiled(preferences, best)
    except CompileError:  # there is no room for tensors that lie so, or it takes too long
        return best
    return other if other.length < best.length else best
