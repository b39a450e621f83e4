"""Large loads ahead of their use, as far as all buffers have room: those that went too far are taken back.

Of loads whose targets are in the way the largest begin behind it: few are put off, and after one or two rounds all
packs. (Those that are wanted last, or first, take more rounds and leave longer programs.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mnc.mncore_backend.codegen.allocation import load_again, unplaced
from mnc.mncore_backend.codegen.coalescing.coalesce import coalesce_copies
from mnc.mncore_backend.codegen.ordering.prefetch import Ahead, Loads, Moved
from mnc.mncore_backend.program import MachineOp, Program, kernel_of_origin

ATTEMPTS = 6
"""How often loads are put ahead of their use, until all buffers have room."""


@dataclass(frozen=True, slots=True)
class Crowded:
    """A buffer without room: its long words, and the first and the last operation that use it; None for one that is
    there before the first or after the last."""

    size: int
    first: MachineOp | None
    last: MachineOp | None


def with_loads_ahead(program: Program, runs: Sequence[Sequence[MachineOp]]) -> list[MachineOp] | None:
    """The operations with large loads ahead of their use, as far as all buffers have room; None if nothing has."""
    known = len(program.buffers)
    bounds: dict[int, int] = {}
    loads = Loads.of(runs)
    for _ in range(ATTEMPTS):
        ahead = loads.prefetched(program, bounds=bounds)
        if ahead is None:
            return None
        without_room = _without_room(program, ahead.operations)
        if without_room == []:
            return ahead.operations
        del program.buffers[known:]
        if without_room is None or not take_back(ahead, without_room, runs, bounds):
            return None
    return None


def _without_room(program: Program, operations: Sequence[MachineOp]) -> list[Crowded] | None:
    """Buffers of a program that find no room when it is done in this order, after the passes that come until then; None
    if no memories can be chosen."""
    trial = Program(list(program.buffers), list(operations))
    coalesce_copies(trial)
    load_again(trial)
    left = unplaced(trial)
    at = dict(enumerate(trial.operations)).get  # pinned buffers live from before the first operation on
    return None if left is None else [Crowded(life.buffer.size, at(life.first), at(life.last)) for life in left]


def take_back(
    ahead: Ahead, crowded: Sequence[Crowded], runs: Sequence[Sequence[MachineOp]], bounds: dict[int, int]
) -> bool:
    """Add to `bounds` (see `Loads.prefetched`) what leaves room for the `crowded`; False if no load is in the way."""
    kernels = [kernel_of_origin(run[0].location) if run else None for run in runs]
    loads = {kernels[load.number]: load for load in ahead.moved}
    places = {kernel: number for number, kernel in enumerate(kernels)}
    places |= {kernel: load.place for kernel, load in loads.items()}
    before = dict(bounds)
    for own in crowded:
        first, last = (None if op is None else kernel_of_origin(op.location) for op in (own.first, own.last))
        if own.first is not None and (load := loads.get(first)) is not None:  # it waits half as long itself
            bounds[load.number] = max(bounds.get(load.number, 0), (load.place + load.number + 1) // 2)
        else:
            _make_room(own.size, ahead.moved, places.get(first, 0), places.get(last, len(runs)), before, bounds)
    return bounds != before


def _make_room(
    size: int, moved: Sequence[Moved], first: int, last: int, before: dict[int, int], bounds: dict[int, int]
) -> None:
    """Put off loads that are in the way from the run `first` to the run `last`, until they have freed `size`."""
    in_the_way = [load for load in moved if load.place <= last and load.number > first]
    for load in sorted(in_the_way, key=lambda own: -own.size):
        if size <= 0:
            return
        is_new = bounds.get(load.number) == before.get(load.number)
        bounds[load.number] = max(bounds.get(load.number, 0), min(last + 1, load.number))
        size -= load.size if is_new else 0  # what is put off for another buffer already has freed its room for that
