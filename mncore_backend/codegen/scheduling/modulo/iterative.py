"""Iterative modulo scheduling (B. R. Rau, "Iterative modulo scheduling", 1994).

Items are placed in the order of their heights, each at the first step within one interval from where its placed
predecessors allow it. Where none is free, the item takes its place all the same, and what is in the way is placed
again later. The intervals are tried from the lower bound up, each with a limited number of placements.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from mnc.mncore_backend.codegen.scheduling.modulo.body import Body
from mnc.mncore_backend.codegen.scheduling.modulo.exact import SMALL, exact_starts
from mnc.mncore_backend.codegen.scheduling.modulo.table import ModuloTable, repeats_at
from mnc.mncore_backend.codegen.scheduling.needs import reach

EFFORT = 8
"""Placements per item until an interval is given up."""


@dataclass(frozen=True, slots=True)
class ModuloSchedule:
    """Item i of iteration k starts at step `starts[i] + k * interval`. `optimal`: no schedule has a shorter
    interval."""

    interval: int
    starts: tuple[int, ...]
    optimal: bool

    @property
    def stages(self) -> int:
        """How many iterations are under way at the same time, at most."""
        return 1 + max(self.starts) // self.interval - min(self.starts) // self.interval


def modulo_schedule(body: Body) -> ModuloSchedule | None:
    """The schedule with the shortest interval that is found; None for a body that no interval admits."""
    least = body.least_interval()
    one_by_one = sum(item.offsets[-1] + reach() for item in body.items)  # no rule of the ports reaches so far
    longest = least + one_by_one + sum(max(0, edge.steps) for edge in body.edges)
    optimal = True
    for interval in range(least, longest + 1):
        if not all(repeats_at(item, interval) for item in body.items):
            continue
        starts = iterative_starts(body, interval)
        if starts is None:
            starts, complete = exact_starts(body, interval) if len(body.items) <= SMALL else (None, False)
            optimal &= complete
        if starts is not None:
            return ModuloSchedule(interval, starts, optimal)
    return None


def iterative_starts(body: Body, interval: int, effort: int = EFFORT) -> tuple[int, ...] | None:
    """Starts of the items at this interval; None if not found with `effort` placements per item. Every item must agree
    with itself at this interval (`repeats_at`)."""
    heights = body.heights(interval)
    if heights is None:
        return None
    in_order = list(range(len(heights), 0, -1))
    for priorities in (heights, in_order):  # the order of the program is that of a register or bank that is used again
        search = _Search(body, interval, priorities)
        for _ in range(effort * len(body.items)):
            if not search.left:
                return tuple(search.starts[i] for i in range(len(body.items)))
            search.place_next()
    return None


class _Search:
    """What is placed where so far."""

    def __init__(self, body: Body, interval: int, priorities: list[int]) -> None:
        self.body, self.interval, self.priorities = body, interval, priorities
        self.number = {id(item): i for i, item in enumerate(body.items)}
        self.table = ModuloTable(interval)
        self.starts: dict[int, int] = {}
        self.last: dict[int, int] = {}  # where an item was placed last
        self.left = [(-priority, i) for i, priority in enumerate(priorities)]
        heapify(self.left)
        self.into: list[list[tuple[int, int]]] = [[] for _ in body.items]
        self.out_of: list[list[tuple[int, int]]] = [[] for _ in body.items]
        for edge in body.edges:
            if edge.before != edge.after:
                weight = edge.steps - interval * edge.distance
                self.into[edge.after].append((edge.before, weight))
                self.out_of[edge.before].append((edge.after, weight))

    def place_next(self) -> None:
        """Place the item with the greatest priority among those that are not."""
        item = heappop(self.left)[1]
        bundle = self.body.items[item]
        known = [self.starts[before] + weight for before, weight in self.into[item] if before in self.starts]
        soonest = max([0, *known])
        free = (step for step in range(soonest, soonest + self.interval) if self.table.fits(bundle, step))
        step = next(free, None)
        if step is None:
            step = max(soonest, self.last.get(item, -1) + 1)
            for other in self.table.in_the_way(bundle, step):
                self._take_out(self.number[id(other)])
        self.table.place(bundle, step)
        self.starts[item] = self.last[item] = step
        for after, weight in self.out_of[item]:
            if after in self.starts and self.starts[after] < step + weight:
                self._take_out(after)

    def _take_out(self, item: int) -> None:
        self.table.remove(self.body.items[item])
        del self.starts[item]
        heappush(self.left, (-self.priorities[item], item))
