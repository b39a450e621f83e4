"""From one layout to another on the chip: the cheapest chain of moves through a few intermediate layouts, or a gather
where no chain exists.

A move is a copy inside the PEs, a transpose inside the MABs, or one trip up and down (`hop`). Lanes (PE, word) travel
together, so layouts whose lanes differ need a transpose before or after the trip; the intermediate layouts are the two
ends with other lanes.
"""

import itertools
import threading
from collections import OrderedDict
from contextlib import suppress
from heapq import heappop, heappush
from math import inf

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, canonical, equivalent
from mnc.mncore_backend.movement.estimate import TooMany, UpTo, count, move_steps
from mnc.mncore_backend.movement.feasible import may_copy, may_stay
from mnc.mncore_backend.movement.gather import plan_gather, single_move
from mnc.mncore_backend.movement.hop_slices import Emit
from mnc.mncore_backend.movement.lanes import collected, variants
from mnc.mncore_backend.movement.own_part import own_part
from mnc.mncore_backend.movement.pick import Plan
from mnc.mncore_backend.movement.price_book import machine_digest
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.mncore_backend.movement.room import room
from mnc.mncore_backend.pricing import relayout
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer, Builder, Program
from mnc.mncore_backend.target import cached_per_machine, chip

Move = tuple[int, Layout, Emit]  # cost in steps, where it leads, how

MOVES = 4  # longest chain that is looked for
EXPANDED = 40  # layouts from which the search goes on before it gives up
HOPE = 0.6  # part of a rough price that a move is hoped to take: twice the error of these prices
DEAR = 250  # steps above which detours and gathers are looked at as well




def plan_relayout(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    target_layout: Layout,
    target: Buffer,
    *,
    padding: int | None = None,
    picks: bool = True,
) -> Plan:
    """Emit what turns `source` under `source_layout` into `target` under `target_layout` (same tensor), never through
    DRAM. Words that pad the target take the 32-bit pattern `padding`; None leaves them unspecified, which is cheaper.
    `picks`: a PE may take its part of what all hold by addresses of its own. The plan may hold index tables, as of
    `plan_gather`. Raises ValueError for different tensors."""
    if source_layout.shape != target_layout.shape:
        raise ValueError(f"relayout of {source_layout.shape} into {target_layout.shape}")
    if source is target and equivalent(source_layout, target_layout):
        return Plan()
    key = ("relayout", source_layout, target_layout, padding, picks)
    ends = (source_layout, source, target_layout, target)
    return REPEATS.emit(builder, key, source, target, lambda: _plan(builder, *ends, padding, picks))


def _plan(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    target_layout: Layout,
    target: Buffer,
    padding: int | None,
    picks: bool,
) -> Plan:
    padded = target_layout.padded_shape != target_layout.shape
    ends = canonical(source_layout), canonical(target_layout)
    chain = find_chain(*ends) if padding is None or not padded else None
    if chain is not None and picks:
        chain = _picked(*ends, _steps(chain)) or chain
    cost = _steps(chain) if chain is not None else None
    if cost is None or cost > DEAR:  # what a PE picks from all that passes by may be less than what chains carry
        trial = Builder(Program(operations=UpTo(inf if cost is None else cost)), builder.location, builder.keep)
        index_map = np.arange(source_layout.size)
        plan = None
        with suppress(TooMany):
            own = {"padding": padding or 0, "fills": padding is not None}
            plan = plan_gather(trial, source_layout, source, target_layout, target, index_map, **own)
        if plan is not None and (cost is None or count(trial.program.operations).total_steps < cost):
            builder.adopt(trial)
            return plan
    assert chain is not None
    here = source
    for number, (_, layout, emit) in enumerate(chain):
        last = number == len(chain) - 1
        there = target if last else builder.temporary(layout.local_size, _between(layout), "between")
        emit(builder, here, there)
        here = there
    return Plan()


@cached_per_machine(256)
def _picked(source: Layout, target: Layout, cost: int) -> tuple[Move] | None:
    """A pick of what every PE holds itself, if that takes fewer than `cost` steps. As a part of longer chains it does
    not pay: it keeps the ALU from other work and its source in LM0, where that could pass by in a register file."""
    picks = own_part(source, target) if may_copy(source, target) else []
    priced = move_steps(picks[0], source, target, limit=cost - 1) if picks else None
    return ((priced, target, picks[0]),) if priced is not None else None


def _between(layout: Layout) -> tuple[Memory, ...]:
    """Where what lies between two moves goes: a register file can be read and written at different addresses in one
    step, a local memory cannot (SDM 3.6.4)."""
    is_small = layout.local_size <= room(Memory.GRF0, 1, 4)
    return REGISTER_FILE if is_small else LOCAL_MEMORY


@cached_per_machine(1024)
def find_chain(
    source: Layout, target: Layout, *, detours: bool = True, limit: float = inf
) -> tuple[Move, ...] | None:
    """The cheapest chain of moves over the intermediate layouts, None if there is none of at most `limit` steps; with
    `detours`, over layouts that collect an axis in every PE too, where all others are dear."""
    stops = [*variants(source, target), *variants(target, source)]
    if not detours:
        return _search(source, target, stops, limit)
    more = [*stops]  # a detour: an axis collected in every PE, and spread again
    for end, other in ((source, target), (target, source)):
        for detour in collected(end):
            more += [detour, *variants(detour, other)]
    if limit < DEAR and _search(source, target, more, limit) is None:
        return None
    found = _search(source, target, stops, max(limit, DEAR))
    if found is None or _steps(found) > DEAR:
        found = _search(source, target, more, limit if found is None else min(limit, _steps(found))) or found
    return found if found is not None and _steps(found) <= limit else None


def _steps(chain: tuple[Move, ...]) -> int:
    return sum(move[0] for move in chain)


def _search(source: Layout, target: Layout, stops: list[Layout], limit: float) -> tuple[Move, ...] | None:
    """The cheapest chain of at most `limit` steps, as far as rough prices tell the way.

    What a move takes is known only when it has been written down. So a move waits in the queue with its rough price,
    and is written when no other chain promises less (A* with lazy edges).
    """
    queue: list[tuple[float, int, int, Layout, Layout | None, tuple[Move, ...]]] = [(0, 0, 0, source, None, ())]
    best: dict[Layout, int] = {}
    numbers = itertools.count(1)
    rest = {there: _hopeful(there, target) for there in (*stops, target)}
    while queue:
        _, _, cost, here, there, chain = heappop(queue)
        if there is None and best.get(here, inf) <= cost:
            continue
        if there is not None:
            move = KNOWN_MOVES.find(here, there, limit - cost - least_steps(there, target))
            if move is not None:
                cost += move[0]
                limit = min(limit, cost) if there == target else limit
                heappush(queue, (cost + rest[there], next(numbers), cost, there, None, (*chain, move)))
        elif here == target and chain:
            return chain
        elif len(best) < EXPANDED:
            best[here] = cost
            onward = (target,) if len(chain) == MOVES - 1 else dict.fromkeys((target, *stops))
            for there in onward:
                least = cost + least_steps(here, there) + least_steps(there, target)
                if least <= limit and best.get(there, inf) > cost and there != here:
                    promise = cost + _hopeful(here, there) + rest[there]
                    heappush(queue, (promise, next(numbers), cost, here, there, chain))
    return None


def _hopeful(here: Layout, there: Layout) -> float:
    """Steps from here to there, hardly more than it takes."""
    return max(least_steps(here, there), HOPE * relayout(here, there).total)


def least_steps(here: Layout, there: Layout) -> int:
    """Steps that every chain from here to there takes at least."""
    through_pdm = 2 * (chip().mv_latency_steps + chip().mv_issue_interval_steps)  # the least exchange between L2Bs
    return 0 if may_stay(here, there, Axis.L2B) else through_pdm


class _KnownMoves:
    """Single moves of each machine by their ends; of those that are not known, what they cost at least: infinity where
    there is none."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, Layout, Layout], Move | float] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, here: Layout, there: Layout, limit: float) -> Move | None:
        """The cheapest move, None if there is none of at most `limit` steps."""
        if limit < least_steps(here, there):
            return None
        ends = machine_digest(), here, there
        with self._lock:
            found = self._known.pop(ends, -1.0)
        if not isinstance(found, tuple) and found < limit:
            made = single_move(here, there, limit=limit)
            found = (made[0], there, made[1]) if isinstance(made, tuple) else made
        with self._lock:
            self._known[ends] = found
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return found if isinstance(found, tuple) and found[0] <= limit else None


KNOWN_MOVES = _KnownMoves(4096)
