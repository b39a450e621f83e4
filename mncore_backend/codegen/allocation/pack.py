"""Addresses within one memory: buffers that live at the same time get disjoint ranges.

Reuse of an address orders operations that are otherwise independent, so it should come late. First attempt: in order of
first use, each buffer behind the one placed before it (round robin). If that fragments too much, those that found no
room are placed first, then large ones, and the others round robin between them; the fewer are placed first, the later
is reuse. Last: all, largest first, each at the lowest address that is free during its life, and again with what found
none before the rest.
"""

from bisect import insort
from itertools import accumulate

from mnc.mncore_backend.codegen.allocation.lifetimes import Life

Placed = dict[Life, int]
_PERIODS = 512
_ANEW = 16
"""How often all are placed anew, with what found no room before at the front."""
_AROUND = 32
"""How many buffers that find no room are placed before the others, one after the other."""
_LARGE = (4, 8, 16, 32)
"""Parts of a memory from which on a buffer counts as large, as they are tried."""


def pack(lives: list[Life], capacity: int) -> Placed | None:
    """Base address (long words) for every buffer, or None if this packing does not fit. Buffers that already have a
    base keep it."""
    fixed = {life: life.buffer.base for life in lives if life.buffer.base is not None}
    free = [life for life in lives if life.buffer.base is None]
    placed = _around_what_finds_no_room(fixed, free, capacity)
    for part in _LARGE if placed is None else ():
        large = [life for life in free if life.buffer.size * part > capacity]
        standing = _largest_first(fixed, large, capacity)
        if standing is not None and large:
            placed, _ = _round_robin(standing, [life for life in free if life not in standing], capacity)
        if placed is not None:
            return placed
    return placed or _largest_first(fixed, free, capacity)


def _around_what_finds_no_room(fixed: Placed, free: list[Life], capacity: int) -> Placed | None:
    """Round robin; a buffer that finds no room is placed before the others, and those anew around it. So a short time
    in which memory is full decides nothing for the rest of a program."""
    first: list[Life] = []
    for _ in range(_AROUND):
        standing, left = _in_order(fixed, first, capacity)
        if left:
            return None
        placed, without_room = _round_robin(standing, [life for life in free if life not in standing], capacity)
        if without_room is None:
            return placed
        first.append(without_room)
    return None


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


def _gap(blocked: list[tuple[int, int]], size: int, alignment: int, start: int, end: int) -> int | None:
    """Lowest free aligned address from `start` with `size` long words below `end`; `blocked` is sorted."""
    at = _aligned(start, alignment)
    for first, last in blocked:
        if last <= at:
            continue
        if first >= at + size:
            break
        at = _aligned(last, alignment)
    return at if at + size <= end else None


def _round_robin(fixed: Placed, free: list[Life], capacity: int) -> tuple[Placed | None, Life | None]:
    """Long-lived buffers (pinned) at the bottom, then the others in order of first use, behind one another and around
    those that are `fixed`; or the first that finds no room."""
    placed = dict(fixed)
    standing = list(placed)
    pointer = 0
    active: list[tuple[int, int, Life]] = []  # sorted by end of life
    for life in sorted(free, key=lambda l: (not l.buffer.pinned, l.first)):
        if not life.buffer.pinned:
            active = [entry for entry in active if entry[2].overlaps(life)] if _expired(active, life) else active
        others = [*standing, *(entry[2] for entry in active)]
        blocked = sorted((placed[o], placed[o] + o.buffer.size) for o in others if o.overlaps(life))
        buffer = life.buffer
        start = 0 if buffer.pinned else pointer
        at = _gap(blocked, buffer.size, buffer.alignment, start, capacity)
        if at is None:
            at = _gap(blocked, buffer.size, buffer.alignment, 0, capacity)
        if at is None:
            return None, life
        placed[life] = at
        if buffer.pinned:
            standing.append(life)
        else:
            pointer = at + buffer.size
            insort(active, (life.last, id(life), life), key=lambda entry: entry[:2])
    return placed, None


def _expired(active: list[tuple[int, int, Life]], life: Life) -> bool:
    return bool(active) and active[0][0] <= life.first


def _largest_first(fixed: Placed, free: list[Life], capacity: int) -> Placed | None:
    """Greedy by size: each buffer at the lowest address free during its life. One that finds none goes to the front,
    and all are placed anew ("squeaky wheel" optimisation, D. Joslin and D. Clements, 1999)."""
    if _most_alive([*fixed, *free]) > capacity:
        return None
    order = sorted(free, key=lambda l: (-l.buffer.size, l.first))
    for _ in range(_ANEW):
        placed, left = _in_order(fixed, order, capacity)
        if not left:
            return placed
        order.remove(left[0])
        order.insert(0, left[0])
    return None


def left_over(lives: list[Life], capacity: int) -> list[Life]:
    """Buffers that find no room when all others that do are placed, largest first, as `pack` does at last."""
    fixed = {life: life.buffer.base for life in lives if life.buffer.base is not None}
    order = sorted((life for life in lives if life not in fixed), key=lambda l: (-l.buffer.size, l.first))
    return _in_order(fixed, order, capacity, most=len(order))[1]


def _most_alive(lives: list[Life]) -> int:
    """Long words that live at the same time at least: what dies where others are born is not counted beside them."""
    changes = [(life.first, life.buffer.size) for life in lives] + [(life.last, -life.buffer.size) for life in lives]
    return max(accumulate(size for _, size in sorted(changes)), default=0)


def _in_order(fixed: Placed, order: list[Life], capacity: int, most: int = 1) -> tuple[Placed, list[Life]]:
    """Each buffer at the lowest address free during its life, and those that find none, until there are `most`."""
    placed = dict(fixed)
    left: list[Life] = []
    width = 1 + max((life.last for life in (*fixed, *order)), default=0) // _PERIODS
    periods: dict[int, list[Life]] = {}  # so that only buffers of about the same time are looked at

    def note(life: Life) -> None:
        for period in range(life.first // width, life.last // width + 1):
            periods.setdefault(period, []).append(life)

    for life in fixed:
        note(life)
    for life in order:
        near = {o for p in range(life.first // width, life.last // width + 1) for o in periods.get(p, ())}
        blocked = sorted((placed[o], placed[o] + o.buffer.size) for o in near if o.overlaps(life))
        at = _gap(blocked, life.buffer.size, life.buffer.alignment, 0, capacity)
        if at is not None:
            placed[life] = at
            note(life)
            continue
        left.append(life)
        if len(left) == most:
            break
    return placed, left


def peak(lives: list[Life]) -> tuple[int, list[Life]]:
    """Largest number of long words alive at the same time, and by which buffers (largest first)."""
    worst, who = 0, []
    for moment in sorted({life.first for life in lives}):
        alive = [l for l in lives if l.first <= moment <= l.last]
        total = sum(l.buffer.size for l in alive)
        if total > worst:
            worst, who = total, alive
    return worst, sorted(who, key=lambda l: (-l.buffer.size, l.buffer.name))
