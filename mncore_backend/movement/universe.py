"""Bringing everything that any PE of a neighbourhood might need to each of its PEs.

The neighbourhood is as small as the need allows: coordinates that every word keeps are not crossed. Source addresses
are taken in chunks that fit the staging memories; each chunk arrives in portions that fit a scratch buffer of LM0.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.movement.compose import fill, slack
from mnc.mncore_backend.movement.crossing import Crossing
from mnc.mncore_backend.movement.estimate import TooMany, UpTo, count, most_steps
from mnc.mncore_backend.movement.local import LONG, access, copy
from mnc.mncore_backend.movement.paths import Path
from mnc.mncore_backend.movement.routes import ABSENT, Readers, Route, Wanted
from mnc.mncore_backend.movement.scope import Index, Need
from mnc.mncore_backend.movement.staging import (
    emit_down,
    emit_l2bm_down,
    emit_l2bm_up,
    emit_up,
    exchange,
    staging,
)
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, SHARE_UNIT, distinct_unit, pe_families, pe_steps
from mnc.mncore_backend.program import Buffer, Builder, Program, upper
from mnc.mncore_backend.target import chip


@dataclass(slots=True)
class Portion:
    """What is in the scratch buffer at a time: `longs` are the long words of the target of which some PE finds a word
    there, ascending, and `index` [L2B, L1B, MAB, PE, words of these] is the word in it, -1 where the needed one is not
    there."""

    longs: list[int]
    index: Index


def portions(builder: Builder, way: Crossing, need: Need, source: Buffer, scratch: Buffer) -> Iterator[Portion]:
    """Emit the transfers portion by portion; the caller picks from the scratch buffer in between."""
    readers = Readers(np.where(need.wanted, need.at(Axis.ADDRESS), ABSENT))
    used = readers.in_order_of_use(way.row)
    if len(way.choices) > 1:
        way = _shorter(builder, way, need, readers, used, source, scratch)
    yield from _portions(builder, way, need, readers, used, source, scratch)


def _shorter(
    builder: Builder, way: Crossing, need: Need, readers: Readers, used: Index, source: Buffer, scratch: Buffer
) -> Crossing:
    """The one of the choices that brings the first chunk in the fewest steps. Raises TooMany where all take more than
    anybody wants to know of."""
    ways = way.choices
    some = used[: min(other.chunk() for other in ways)]
    best: tuple[int, Crossing] | None = None
    limit = most_steps(builder)
    for other in ways:
        trial = Builder(Program(operations=UpTo(limit)), builder.location, builder.keep)
        with suppress(TooMany):
            for _ in _portions(trial, other, need, readers, some, source, scratch):
                pass
            steps = count(trial.program.operations).total_steps
            if best is None or steps < best[0]:
                best, limit = (steps, other), min(limit, steps)
    if best is None:
        raise TooMany
    return best[1]


def _portions(
    builder: Builder, way: Crossing, need: Need, readers: Readers, used: Index, source: Buffer, scratch: Buffer
) -> Iterator[Portion]:
    """The same for some source addresses, by the way that is given."""
    first, size = 0, way.chunk()
    while first < len(used):
        chunk = [int(a) for a in used[first : first + size]]
        wanted = Wanted.of(need, readers, chunk)
        if way.family is None:
            copy(builder, source, scratch, [(LONG * a, LONG * i) for i, a in enumerate(chunk)])
            yield _finish(builder, way, wanted, wanted.number, len(chunk), scratch)
        else:
            route = Route(way, wanted, len(chunk))
            if route.arriving > way.room_of_arrivals and len(chunk) > 1:
                size = max(1, min(len(chunk) - 1, len(chunk) * way.room_of_arrivals // route.arriving))
                continue
            for part in route.parts(way.room_of_arrivals):
                yield from _arrivals(builder, part, source, scratch, chunk)
        first += len(chunk)


def _arrivals(builder: Builder, route: Route, source: Buffer, scratch: Buffer, chunk: list[int]) -> Iterator[Portion]:
    way = route.way
    l1bm, total = _collect(builder, route, source, chunk)
    for inside, places, first, longs in _deliveries(route, total):
        _deliver(builder, way, l1bm, first, longs, scratch)
        arrived = places - first
        if way.family is pe_families().every:  # the second long words of a 2-long l1bmp follow those of all four cycles
            arrived = arrived // 8 * 8 + 2 * (arrived % 4) + arrived // 4 % 2
        yield _finish(builder, way, route.wanted.only(inside), arrived, longs, scratch)


def _deliveries(route: Route, total: int) -> Iterator[tuple[NDArray[np.bool_], Index, int, int]]:
    """What comes down at a time of `total` long words of L1BM: which positions, their places in the view of a PE, the
    first place and the number of places."""
    way, position = route.way, route.position
    whole = 1 if way.family is pe_families().distinct else 8  # 2-long steps
    for start in range(0, total, way.room * way.granule):
        inside = (position >= start) & (position < min(total, start + way.room * way.granule))
        if inside.any():
            places = position[inside] // way.granule
            first = int(places.min()) // whole * whole
            yield inside, places, first, -(-(int(places.max()) - first + 1) // whole) * whole


def _extent(route: Route, total: int) -> int:
    """Long words of L1BM that the deliveries of `total` touch: a step reads four cycles, whether it wants them or
    not."""
    ends = [first + -(-count // CYCLES) * CYCLES for _, _, first, count in _deliveries(route, total)]
    return max([total, *(end * route.way.granule for end in ends)])


def _collect(builder: Builder, route: Route, source: Buffer, chunk: list[int]) -> tuple[Buffer, int]:
    """PE -> L1BM (-> L2BM (-> PDM -> L2BM) -> L1BM). Returns the L1BM buffer to read from and its filled size."""
    way, size = route.way, route.size
    if way.row:
        up = staging(builder, Memory.L1BM, max(size, slack(len(chunk))), "gather")
        fill(builder, source, up, np.array(chunk + chunk[-1:] * (size // way.native - len(chunk))), way.row)
        return _exchange(builder, route, up) if way.blocks or way.lefts else (up, size)
    family = pe_families().mabs if way.mabs_alike else pe_families().distinct
    block = family.short.block
    up = staging(builder, Memory.L1BM, max(-(-size // block), -(-len(chunk) // CYCLES)) * block, "gather")
    parts = [chunk[i : i + CYCLES] for i in range(0, len(chunk), CYCLES)]
    steps = [step for part in parts for step in pe_steps(part, family, two_long=False)]
    end = 0
    for step in steps:
        emit_up(builder, step, source, up, end)
        end += block
    while end < size:
        emit_up(builder, steps[-1], source, up, end)
        end += block
    if not way.blocks and not way.lefts:
        return up, size
    return _exchange(builder, route, up)


def _exchange(builder: Builder, route: Route, up: Buffer) -> tuple[Buffer, int]:
    """Through L2BM: all L1Bs (or the own one) of the own L2B, or the wanted units of all L2Bs, in every L1BM."""
    way, size = route.way, route.size
    if route.casts:
        return _multicast(builder, route, up), route.arriving
    kept_distinct, all_l1bs = way.l1bs_differ, chip().l1bs_per_l2b - 1
    at_once = kept_distinct or way.in_turn
    ascent = Path(pe_families().distinct, None if at_once else tuple(way.blocks or [0]), all_l1bs)
    wide = size * ascent.widening
    l2bm = staging(builder, Memory.L2BM, wide, "gather")
    if route.shares:
        _bring_shares(builder, route, up, l2bm)
        extent = _extent(route, route.arriving)
        down = staging(builder, Memory.L1BM, extent, "gathered")
        _hand_out(builder, l2bm, down, route.shares, extent)
        return down, route.arriving
    if not way.lefts:
        emit_l2bm_up(builder, ascent, up, l2bm, size)
    else:
        wide = _bring_units(builder, route, ascent, up, l2bm)
        gathered = staging(builder, Memory.L2BM, len(route.units[0]) * MV_UNIT, "gathered")
        exchange(builder, l2bm, wide, way.lefts, np.array(route.units), gathered)
        l2bm, wide = gathered, gathered.size
    descent = Path(pe_families().distinct, None if kept_distinct else (0,), all_l1bs)
    total = wide // chip().l1bs_per_l2b if kept_distinct else wide
    extent = _extent(route, total)
    down = staging(builder, Memory.L1BM, extent, "gathered")
    emit_l2bm_down(builder, descent, l2bm, down, total, extent)
    return down, total


def _multicast(builder: Builder, route: Route, up: Buffer) -> Buffer:
    """L1BM -> L1BM: one unit behind the other as l2bmi bring them, and behind the last one anything."""
    extent = _extent(route, route.arriving)
    down = staging(builder, Memory.L1BM, extent, "gathered")
    for place in range(-(-extent // MV_UNIT)):
        row, cast = route.casts[min(place, len(route.casts) - 1)]
        ends = [upper(up, row * MV_UNIT)], [upper(down, place * MV_UNIT)]
        builder.emit("l2bmi", *ends, modifier=cast.modifier)
    return down


def _bring_units(builder: Builder, route: Route, ascent: Path, up: Buffer, l2bm: Buffer) -> int:
    """L1BM -> L2BM: what holds the units that some L2B wants. Returns how many long words that are."""
    step = distinct_unit() if ascent.sets is None else MV_UNIT
    each = route.grain * MV_UNIT // step
    steps = [number * each + i for number in route.brought for i in range(each)]
    for place, number in enumerate(steps):
        target = upper(l2bm, place * step)
        if ascent.sets is None:
            builder.emit("l2bmd", [upper(up, number * ascent.unit)], [target])
        else:
            giver, row = divmod(number, route.size // ascent.unit)
            builder.emit("l2bm", [upper(up, row * ascent.unit)], [target], modifier=f"@{ascent.sets[giver]}")
    return len(steps) * step


def _bring_shares(builder: Builder, route: Route, up: Buffer, l2bm: Buffer) -> None:
    """L1BM -> L2BM: what holds the units that some L1B wants."""
    way, wanted = route.way, {unit for own in route.shares for unit in own}
    if way.in_turn:
        for step in sorted({MV_UNIT * unit // distinct_unit() for unit in wanted}):
            builder.emit("l2bmd", [upper(up, step * SHARE_UNIT)], [upper(l2bm, step * distinct_unit())])
        return
    for block, row in (divmod(MV_UNIT * unit, route.size) for unit in sorted(wanted)):
        origin, place = upper(up, row), upper(l2bm, block * route.size + row)
        builder.emit("l2bm", [origin], [place], modifier=f"@{way.blocks[block]}")


def _hand_out(builder: Builder, l2bm: Buffer, l1bm: Buffer, shares: list[list[int]], extent: int) -> None:
    """L2BM -> L1BM: unit `shares[L1B][i]` to place i of that L1B. All places up to `extent` long words are written in
    all L1Bs: the unit of a place that most want goes to everyone, behind the last one anything."""
    common = 0
    for i in range(max(map(len, shares))):
        wants = [(b, own[i]) for b, own in enumerate(shares) if i < len(own)]
        common = Counter(unit for _, unit in wants).most_common(1)[0][0]
        builder.emit("l2bmb", [upper(l2bm, MV_UNIT * common)], [upper(l1bm, MV_UNIT * i)])
        for b, unit in wants:
            if unit != common:
                builder.emit("l2bmb", [upper(l2bm, MV_UNIT * unit)], [upper(l1bm, MV_UNIT * i)], modifier=f"@{b}")
    for place in range(MV_UNIT * max(map(len, shares)), extent, MV_UNIT):
        builder.emit("l2bmb", [upper(l2bm, MV_UNIT * common)], [upper(l1bm, place)])


def _deliver(builder: Builder, way: Crossing, l1bm: Buffer, first: int, count: int, scratch: Buffer) -> None:
    """L1BM -> scratch: long words first..first+count of every PE's view in order."""
    assert way.family is not None
    at = first * way.granule
    for step in pe_steps(list(range(count)), way.family, two_long=True):
        emit_down(builder, step, l1bm, at, scratch)
        at += step.data


def _finish(builder: Builder, way: Crossing, wanted: Wanted, number: Index, count: int, scratch: Buffer) -> Portion:
    """Add rotated copies if PEs exchange; turn long-word numbers into scratch words."""
    if way.rotate:
        for turn in range(1, CYCLES):
            for i in range(0, count, CYCLES):
                part = range(i, min(i + CYCLES, count))
                read = [LONG * ((turn - 1) * count + k) for k in part]
                write = [LONG * (turn * count + k) for k in part]
                held = access(builder.temporary(CYCLES), [LONG * k for k in range(len(part))], LONG)
                builder.emit("msl", [access(scratch, read, LONG)], [held])
                builder.emit("lpassa", [held], [access(scratch, write, LONG)])
        number = number + (wanted.own(Axis.PE) - wanted.at(Axis.PE)) % CYCLES * count
    *places_of, size = wanted.need.wanted.shape
    places, words = np.divmod(wanted.words, size)
    present = np.zeros(size // 2, np.bool_)
    present[words // 2] = True
    longs = np.flatnonzero(present)
    rank = np.cumsum(present) - 1
    index = np.full((*places_of, 2 * len(longs)), ABSENT, np.int32)
    index.reshape(-1, 2 * len(longs))[places, 2 * rank[words // 2] + words % 2] = LONG * number + wanted.at(Axis.W)
    return Portion(longs.tolist(), index)
