"""How urgent operations are: the program scheduled backwards.

The longest path from an operation to the end is too short an estimate where what follows competes for a unit. So the
operations are first placed from the end on, each unit taking one at a time; how far from the end an operation comes to
lie is its priority in the real schedule. (Forward-backward improvement, R. Li and J. Willis, 1992.)
MVs take the ports of their memories: of those they read during the data phase, of those they write until they have
finished (OPEN-38).
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from mnc.mncore_backend.scheduling.graph import Bundle
from mnc.mncore_backend.scheduling.timeline import Port

Busy = dict[Port, list[tuple[int, int]]]
"""When a port is taken: (first, end), steps from the end of the program."""


def compute_priorities(bundles: Sequence[Bundle]) -> None:
    """Set `priority` of bundles whose members are all known, in steps from the first row to the end."""
    known = {bundle: i for i, bundle in enumerate(bundles)}
    edges = [_edges(bundle, known) for bundle in bundles]
    before: list[list[int]] = [[] for _ in bundles]
    for i, own in enumerate(edges):
        for j, _ in own:
            before[j].append(i)
    depths = _depths(bundles, edges, before)
    missing = [len(own) for own in edges]
    ready: list[tuple[int, int, int]] = []  # (steps from the end at least, depth, number)
    for i, count in enumerate(missing):
        if not count:
            heappush(ready, (_least(bundles[i]), -depths[i], i))
    busy: dict[int, set[int]] = {}
    ports: Busy = {}
    while ready:
        bound, _, i = heappop(ready)
        bundle = bundles[i]
        bundle.priority = _start(bundle, bound, ports) if bundle.is_transfer else _place(bundle, bound, busy)
        for j in before[i]:
            missing[j] -= 1
            if not missing[j]:
                heappush(ready, (_bound(bundles[j], edges[j], bundles), -depths[j], j))


def _edges(bundle: Bundle, known: dict[Bundle, int]) -> list[tuple[int, int]]:
    """(number of a successor, steps from the first row of the bundle to its first row at least)."""
    farthest: dict[int, int] = {}
    for row, offset in zip(bundle.rows, bundle.offsets, strict=True):
        for node in row:
            latency = node.timing.duration if node.timing is not None else 0
            for other, _, distance in node.successors:
                number = known.get(other.bundle)
                if number is not None and other.bundle is not bundle:
                    steps = offset + (latency or distance) - other.bundle.offsets[other.row]
                    farthest[number] = max(farthest.get(number, steps), steps)
    return list(farthest.items())


def _bound(bundle: Bundle, edges: list[tuple[int, int]], bundles: Sequence[Bundle]) -> int:
    return max([_least(bundle), *(bundles[j].priority + steps for j, steps in edges)])


def _least(bundle: Bundle) -> int:
    """Steps from the first row to the end if nothing follows; an MV has finished then."""
    timing = bundle.rows[0][0].timing
    return bundle.offsets[-1] if timing is None else timing.duration


def _depths(bundles: Sequence[Bundle], edges: list[list[tuple[int, int]]], before: list[list[int]]) -> list[int]:
    """Longest path from the start to each bundle, units not regarded."""
    depths = [0] * len(bundles)
    missing = [len(own) for own in before]
    ready = [i for i, count in enumerate(missing) if not count]
    while ready:
        i = ready.pop()
        for j, steps in edges[i]:
            depths[j] = max(depths[j], depths[i] + steps)
            missing[j] -= 1
            if not missing[j]:
                ready.append(j)
    return depths


def _place(bundle: Bundle, bound: int, busy: dict[int, set[int]]) -> int:
    """The first place from `bound` on, counted from the end, where the units of all rows are free."""
    rows = [(offset, needs.units) for offset, needs in zip(bundle.offsets, bundle.needs, strict=True)]
    units = [(offset, bit) for offset, bits in rows for bit in _bits(bits)]
    at = bound
    while any(at - offset in busy.setdefault(bit, set()) for offset, bit in units):
        at += 1
    for offset, bit in units:
        busy[bit].add(at - offset)
    return at


def _start(bundle: Bundle, bound: int, busy: Busy) -> int:
    """The same for an MV, which keeps its ports for some time."""
    timing = bundle.rows[0][0].timing
    assert timing is not None
    taken = [(busy.setdefault(port, []), timing.duration if port[2] else timing.data_steps) for port in timing.ports]
    at = bound
    while later := [end + n for spans, n in taken for first, end in spans if first < at < end + n]:
        at = max(later)
    for spans, length in taken:
        spans.append((at - length, at))
    return at


def _bits(units: int) -> list[int]:
    return [1 << i for i in range(units.bit_length()) if units >> i & 1]
