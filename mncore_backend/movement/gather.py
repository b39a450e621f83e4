"""Any static index map between two layouts: slices, padding, concatenation, strided windows, static gathers, and every
relayout that has no cheaper way."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from math import inf

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Axis, Layout, addresses_in_use
from mnc.mncore_backend.movement.compose import NoWay
from mnc.mncore_backend.movement.crossing import narrowed
from mnc.mncore_backend.movement.estimate import TooMany, UpTo, count, most_steps, move_steps, waiting_for
from mnc.mncore_backend.movement.feasible import may_copy, may_hop, may_transpose
from mnc.mncore_backend.movement.hop import hop
from mnc.mncore_backend.movement.hop_slices import Emit
from mnc.mncore_backend.movement.lanes import local_copy, transpose
from mnc.mncore_backend.movement.local import LONG, WORD, constant, copy, fill
from mnc.mncore_backend.movement.neighbours import Neighbours, Shift, emit_shifts
from mnc.mncore_backend.movement.pick import Picker, Plan
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.mncore_backend.movement.scope import Index, Need, analyse
from mnc.mncore_backend.movement.universe import portions
from mnc.mncore_backend.movement.written_part import WrittenPart, at_its_place, written_part
from mnc.mncore_backend.program import Buffer, Builder, Program
from mnc.mncore_backend.target import chip

MOST_FAR = 0.6
"""Part of the words that may travel as far as any does where it is tried to leave the others behind."""

_Ends = tuple[Layout, Buffer, Need, NDArray[np.bool_], list[int], Buffer, int | None]

UNHURRIED = 0.5
"""What a step counts that waits for nothing that is moved: it is done while others wait."""

CHEAP = 16
"""Steps of a single move above which it is compared with what picks take."""

MASK_STEPS = 3
"""Steps for which a shift waits for its mask and for what it writes over, where little else is to be done."""


def plan_gather(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    target_layout: Layout,
    target: Buffer,
    index_map: NDArray[np.integer],
    *,
    padding: int | None = 0,
    fills: bool = False,
) -> Plan:
    """target.flat[i] = source.flat[index_map.flat[i]], or the 32-bit pattern `padding` where the map is negative. With
    None the target keeps what it holds there, and must hold zeros where the map is not negative: the pieces of a tensor
    come to one buffer one after the other.

    Words that pad the target layout get the pattern too if `fills`, and are left unspecified otherwise, which is
    cheaper.

    The index tables of the plan are DRAM images with the constant arrays that the host must pack into them. Raises
    ValueError when the map does not fit the layouts, TooMany where `builder` takes up to so many steps only.
    """
    flat = np.asarray(index_map).reshape(-1)
    if flat.size != target_layout.size or flat.max(initial=-1) >= source_layout.size:
        raise ValueError(f"index map of {flat.size} entries does not fit {source_layout} -> {target_layout}")
    flat = flat.astype(np.int32)
    part = written_part(target_layout, flat) if padding is None and source is not target else None
    if part is not None:
        return _into_part(builder, source_layout, source, part, target, fills=fills)
    digest = hashlib.blake2b(flat.tobytes()).digest()
    key = ("gather", source_layout, target_layout, digest, padding, fills)
    ends = (source_layout, source, target_layout, target)
    return REPEATS.emit(builder, key, source, target, lambda: _plan(builder, *ends, flat, padding, fills))


def _into_part(
    builder: Builder, source_layout: Layout, source: Buffer, part: WrittenPart, target: Buffer, *, fills: bool
) -> Plan:
    """`plan_gather` into a part of the target, where the rest keeps what it holds."""
    operations, own = builder.program.operations, part.buffer(target)
    before = len(operations)
    plan = plan_gather(builder, source_layout, source, part.layout, own, part.index_map, padding=None, fills=fills)
    operations[before:] = [at_its_place(op, own, target, part.first) for op in operations[before:]]
    return plan


def _plan(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    target_layout: Layout,
    target: Buffer,
    flat: Index,
    padding: int | None,
    fills: bool,
) -> Plan:
    longs = addresses_in_use(target_layout)
    need = analyse(source_layout, target_layout, flat, once=True)
    blank = ~need.wanted if fills else need.blank(target_layout)
    padded = _static_padding(need, blank, longs)
    ends = source_layout, source, need, blank, longs, target, padding
    if padded is not None and (padding is not None or _whole(padded)):
        move = single_move(source_layout, target_layout, flat, limit=most_steps(builder))
        if isinstance(move, tuple):
            picked = _picked_in_less(builder, move[0], source, ends) if move[0] > CHEAP else None
            if picked is not None:
                return picked
            move[1](builder, source, target)
            if padding is not None:
                _fill_words(builder, target, padded, padding)
            return Plan()
    return _collect_and_pick(builder, *ends, limit=most_steps(builder))


def _picked_in_less(builder: Builder, steps: int, source: Buffer, ends: _Ends) -> Plan | None:
    """A pick that takes fewer steps; of what waits for nothing, like the arrival of tables, half of them count, and no
    latencies."""
    most = min(most_steps(builder), steps / UNHURRIED + chip().mv_latency_steps)
    trial = Builder(Program(operations=UpTo(most)), builder.location, builder.keep)
    with suppress(TooMany):
        plan = _collect_and_pick(trial, *ends, limit=most)
        cost, waiting = count(trial.program.operations), count(waiting_for(trial.program.operations, source))
        rest = cost.steps + cost.transfer_steps - waiting.steps - waiting.transfer_steps
        if waiting.total_steps + UNHURRIED * rest < steps:
            builder.adopt(trial)
            return plan
    return None


def single_move(
    source: Layout, target: Layout, index_map: Index | None = None, *, limit: float = inf
) -> tuple[int, Emit] | float:
    """The cheapest single move: a copy in the PEs, a transpose in the MABs or one trip; (cost in steps, way). If there
    is none of at most `limit` steps: `limit`, or infinity where it is known that there is none at all: ways that take
    more are not tried."""
    ways: list[tuple[int, Emit]] = []  # steps that each takes at least
    for may, way in ((may_copy, local_copy), (may_transpose, transpose)):
        if not ways and (index_map is not None or may(source, target)):
            ways = [(0, emit) for emit in way(source, target, index_map)]
    if not ways and (index_map is not None or may_hop(source, target)):
        ways = hop(source, target, index_map)
    best: tuple[int, int] | None = None  # cost, number
    too_dear = False
    for number in sorted(range(len(ways)), key=lambda i: ways[i][0]):
        least, way = ways[number]
        try:
            cost = move_steps(way, source, target, limit=limit) if least <= limit else None
        except NoWay:
            continue
        too_dear |= cost is None
        if cost is not None and (best is None or (cost, number) < best):
            best, limit = (cost, number), cost
    if best is None:
        return float(limit) if too_dear else inf
    return best[0], ways[best[1]][1]


def _static_padding(need: Need, blank: NDArray[np.bool_], longs: list[int]) -> list[int] | None:
    """Target words that take the padding, if none of them takes an element in another PE. The other word of a long word
    takes it too if no element comes there: long words are read as a whole."""
    words = [2 * a + j for a in longs for j in range(2)]
    padded, wanted = (np.any(own[..., words].reshape(-1, len(words)), axis=0) for own in (blank, need.wanted))
    if (padded & wanted).any():
        return None
    padded = padded.reshape(-1, 2).any(axis=1).repeat(2) & ~wanted
    return [w for w, p in zip(words, padded, strict=True) if p]


def _whole(words: list[int]) -> bool:
    """Whether these words make whole long words."""
    return words[::2] == [w - 1 for w in words[1::2]] and all(w % 2 == 0 for w in words[::2])


def _fill_words(builder: Builder, target: Buffer, words: list[int], pattern: int) -> None:
    if not words:
        return
    value = constant(builder, pattern, "padding")
    whole = [w for w in words if w % 2 == 0 and w + 1 in set(words)]
    single = [w for w in words if w - w % 2 not in set(whole)]
    copy(builder, value, target, [(0, w) for w in whole], LONG)
    copy(builder, value, target, [(0, w) for w in single], WORD)


def _collect_and_pick(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    need: Need,
    blank: NDArray[np.bool_],
    longs: list[int],
    target: Buffer,
    padding: int | None,
    *,
    limit: float,
) -> Plan:
    """The way that is always open: everything a PE might need passes by, and it picks by an index table; in at most
    `limit` steps, or it raises TooMany.

    Words that travel far take those with them that do not, unless it is cheaper to bring each as far as it has to go.
    """
    copied = need.copies()
    rest = need.without(copied)
    best: tuple[int, Builder, Plan] | None = None
    trials = list(_trials(rest))
    limit += MASK_STEPS * max(len(shifts) for _, shifts in trials)
    for parts, shifts in reversed(trials):  # the last ones mostly take least, and with that limit the others
        own = Builder(Program(operations=UpTo(limit)), builder.location, builder.keep)
        with suppress(TooMany):
            copy(own, source, target, [(LONG * a, LONG * b) for b, a in copied.items()])
            ends = blank, longs, target, padding, set(copied)
            plan = _pick_parts(own, source_layout, source, parts, shifts, *ends)
            price = count(own.program.operations).total_steps + MASK_STEPS * len(shifts)
            if best is None or price <= best[0]:
                best = price, own, plan
                limit = min(limit, price)
    if best is None:
        raise TooMany
    builder.adopt(best[1])
    return best[2]


def _trials(rest: Need) -> Iterator[tuple[list[Need], list[Shift]]]:
    """Ways to bring the words that are left: in one part or by distance, and what shifts between MABs bring besides."""
    parts = rest.by_distance()
    yield [rest] if parts else [], []
    if len(parts) > 1 and parts[-1].count <= MOST_FAR * rest.count:
        yield parts, []
    if rest.alike.get(Axis.MAB):  # what comes from one MAB goes to all
        return
    neighbours = Neighbours(rest)
    shifts, left = neighbours.shifts(behind=False)
    if shifts:
        yield left.by_distance(), shifts
    more, last = neighbours.shifts(behind=True)
    if last.count < left.count:
        yield last.by_distance(), more
        apart = [own for part in last.by_distance() for own in part.by_mabs()]
        if len(apart) > len(last.by_distance()):
            yield apart, more


def _pick_parts(
    builder: Builder,
    source_layout: Layout,
    source: Buffer,
    parts: list[Need],
    shifts: list[Shift],
    padded: NDArray[np.bool_],
    longs: list[int],
    target: Buffer,
    padding: int | None,
    touched: set[int],
) -> Plan:
    """Bring the words of each part to where they are wanted, then those of the shifts; long words beside `touched` that
    none has get the padding."""
    if padding is None:  # all is there already
        touched = set(longs)
    picker = Picker(builder, target, padding or 0, touched)
    for part in parts:
        for portion in portions(builder, *narrowed(source_layout, part), source, picker.scratch):
            picker.portion(portion.index, padded, portion.longs)
    shifted = {target for shift in shifts for _, target in shift.pairs} - picker.touched if padding == 0 else set[int]()
    if padding is not None:
        fill(builder, target, [a for a in longs if a not in picker.touched | shifted], padding)
    if shifts:
        emit_shifts(builder, shifts, source, target, shifted, picker.constants, picker.kept)
    return Plan(picker.constants, picker.kept)
