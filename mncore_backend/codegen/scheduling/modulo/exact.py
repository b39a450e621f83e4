"""Modulo scheduling of tiny bodies to optimality, by trying all steps of the interval for every item.

Where the items stand modulo the interval decides which resources they use. What is left, the iteration that each
belongs to, is a system of differences, which has a solution unless a cycle of dependences is too long.
"""

from mnc.mncore_backend.codegen.scheduling.modulo.body import Body
from mnc.mncore_backend.codegen.scheduling.modulo.table import ModuloTable, repeats_at

SMALL = 7
"""Items of a body that is tried completely."""
TRIED = 20_000
"""Placements until a body counts as too large all the same."""
Starts = tuple[int, ...] | None


def exact_starts(body: Body, interval: int, tried: int = TRIED) -> tuple[Starts, bool]:
    """Starts of the items at this interval, None if there are none or they were not found; and whether that is
    certain."""
    if not all(repeats_at(item, interval) for item in body.items):
        return None, True
    search = _Search(body, interval, tried)
    found = search.place([])
    return found, found is not None or search.left >= 0


class _Search:
    """Depth first: the rows of the first items are fixed, those of the next one are tried."""

    def __init__(self, body: Body, interval: int, tried: int) -> None:
        self.body, self.interval, self.left = body, interval, tried
        self.table = ModuloTable(interval)

    def place(self, rows: list[int]) -> Starts:
        """Starts with the first items at `rows` of the interval."""
        if len(rows) == len(self.body.items):
            return _starts(self.body, self.interval, rows)
        item = self.body.items[len(rows)]
        for row in range(self.interval if rows else 1):  # all may be shifted together: the first stands at 0
            self.left -= 1
            if self.left < 0:
                return None
            if self.table.fits(item, row):
                self.table.place(item, row)
                found = self.place([*rows, row])
                self.table.remove(item)
                if found is not None:
                    return found
        return None


def _starts(body: Body, interval: int, rows: list[int]) -> Starts:
    """The least starts of items that stand at `rows` of the interval; None if the dependences exclude the rows."""
    stages = [0] * len(rows)
    for _ in range(len(rows) + 1):
        changed = False
        for before, after, steps, distance in body.edges:
            missing = rows[before] + steps - interval * distance - rows[after]
            least = stages[before] - (-missing // interval)
            if least > stages[after]:
                stages[after], changed = least, True
        if not changed:
            return tuple(row + interval * stage for row, stage in zip(rows, stages, strict=True))
    return None
