"""How urgent operations are: the program scheduled backwards.

The longest path from an operation to the end is too short an estimate where what follows competes for a unit. So the
operations are first placed from the end on, each unit taking one at a time; how far from the end an operation comes to
lie is its priority in the real schedule. (Forward-backward improvement, R. Li and J. Willis, 1992.)
MVs take the ports of their memories during their data phases; their latencies overlap (OPEN-38).
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from mnc.mncore_backend.codegen.scheduling.graph import Bundle
from mnc.mncore_backend.codegen.scheduling.timeline import Port

Busy = dict[Port, int]
"""When a port is taken: a bit set of steps from the end of the program."""


def compute_priorities(
    bundles: Sequence[Bundle], *, deep: bool = True, earlier: Mapping[int, int] | None = None
) -> None:
    """Set `priority` of bundles whose members are all known, in steps from the first row to the end. `deep`: of those
    that may come equally late, the one with the longest way from the start comes last; otherwise the first does. With
    the steps of an `earlier` schedule, by index, whoever came last there is placed first."""
    for number, bundle in enumerate(bundles):
        bundle.number = number
    before: list[list[int]] = [[] for _ in bundles]
    for i, bundle in enumerate(bundles):
        for target in _following(bundle):
            before[target.number].append(i)
    depths = _depths(bundles, before) if deep else list(range(len(bundles), 0, -1))
    missing = [len(bundle.following) for bundle in bundles]
    bounds = [_least(bundle) for bundle in bundles]
    ready: list[tuple[int, int, int]] = []  # (steps from the end at least, or how late before, depth, number)
    for i, count in enumerate(missing):
        if not count:
            heappush(ready, (bounds[i] if earlier is None else -earlier[bundles[i].index], -depths[i], i))
    busy: dict[int, int] = {}
    ports: Busy = {}
    while ready:
        _, _, i = heappop(ready)
        bundle, bound = bundles[i], bounds[i]
        bundle.priority = _start(bundle, bound, ports) if bundle.is_transfer else _place(bundle, bound, busy)
        for j in before[i]:
            missing[j] -= 1
            if not missing[j]:
                behind = [target.priority + steps for target, steps in bundles[j].following.items()]
                bounds[j] = max(bounds[j], *behind)
                heappush(ready, (bounds[j] if earlier is None else -earlier[bundles[j].index], -depths[j], j))


def _following(bundle: Bundle) -> dict[Bundle, int]:
    """The bundles that follow, with the steps from the first row of the bundle to theirs at least."""
    rows = bundle.rows
    if len(rows) == 1 == len(rows[0]):
        count = len(rows[0][0].successors)
    else:
        count = sum([len(node.successors) for row in rows for node in row])
    if count != bundle.followed:
        _follow(bundle)
        bundle.followed = count
    return bundle.following


def _follow(bundle: Bundle) -> None:
    """Note all bundles that follow. They are in the window, too: none is placed before this one, and all their members
    are known whenever priorities are computed."""
    farthest = bundle.following = {}
    for row, offset in zip(bundle.rows, bundle.offsets, strict=True):
        for node in row:
            latency = node.timing.duration if node.timing is not None else 0
            for other, _, distance in node.successors:
                target = other.bundle
                if target is not bundle:
                    steps = offset + (latency or distance) - target.offsets[other.row]
                    known = farthest.get(target)
                    if known is None or steps > known:
                        farthest[target] = steps


def _least(bundle: Bundle) -> int:
    """Steps from the first row to the end if nothing follows; an MV has finished then."""
    timing = bundle.rows[0][0].timing
    return bundle.offsets[-1] if timing is None else timing.duration


def _depths(bundles: Sequence[Bundle], before: list[list[int]]) -> list[int]:
    """Longest path from the start to each bundle, units not regarded."""
    depths = [0] * len(bundles)
    missing = [len(own) for own in before]
    ready = [i for i, count in enumerate(missing) if not count]
    while ready:
        i = ready.pop()
        depth = depths[i]
        for target, steps in bundles[i].following.items():
            j = target.number
            if depth + steps > depths[j]:
                depths[j] = depth + steps
            missing[j] -= 1
            if not missing[j]:
                ready.append(j)
    return depths


def _place(bundle: Bundle, bound: int, busy: dict[int, int]) -> int:
    """The first place from `bound` on, counted from the end, where the units of all rows are free. `busy` has a bit set
    of the places taken for every unit."""
    taken = 0  # bit i: place bound + i
    for offset, needs in zip(bundle.offsets, bundle.needs, strict=True):
        units = needs.units
        while units:
            unit = units & -units
            taken |= busy.get(unit, 0) >> bound - offset
            units ^= unit
    at = bound + (~taken & taken + 1).bit_length() - 1
    for offset, needs in zip(bundle.offsets, bundle.needs, strict=True):
        units = needs.units
        while units:
            unit = units & -units
            busy[unit] = busy.get(unit, 0) | 1 << at - offset
            units ^= unit
    return at


def _start(bundle: Bundle, bound: int, busy: Busy) -> int:
    """The same for an MV, which keeps its ports for some time."""
    timing = bundle.rows[0][0].timing
    assert timing is not None
    length = timing.data_steps
    at, moved = bound, True
    while moved:
        moved = False
        for port in timing.ports:
            if met := busy.get(port, 0) >> at - length & (1 << length) - 1:
                at += met.bit_length()  # behind the last place that it meets
                moved = True
    for port in timing.ports:
        busy[port] = busy.get(port, 0) | (1 << length) - 1 << at - length
    return at
