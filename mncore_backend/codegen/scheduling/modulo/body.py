"""The body of a loop as the modulo scheduler sees it: items, dependences with distances, and two lower bounds.

An item is a `Bundle`: one operation, a chain tied by latches, or an MV. One iteration starts `interval` steps behind
the one before. The interval is never shorter than what the busiest resource needs for one iteration
(`resource_bounds`), nor than what a cycle of dependences needs per iteration that it spans (`recurrence_bound`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.codegen.scheduling.graph import Bundle
from mnc.mncore_backend.codegen.scheduling.needs import LOCAL, UNIT_BIT


class Edge(NamedTuple):
    """Item `after` of an iteration starts at least `steps` behind item `before` of the iteration `distance` earlier.
    Negative steps: sooner is possible, too."""

    before: int
    after: int
    steps: int
    distance: int


@dataclass(frozen=True, slots=True)
class Body:
    """Items in an order in which an iteration may be executed, and the dependences between them."""

    items: Sequence[Bundle]
    edges: Sequence[Edge]

    def resource_bounds(self) -> dict[str, int]:
        """Steps that one iteration takes of each resource: the units, the ports of memories, and the memories between
        which MVs move data. Operations that may share a port count once for each place that they address."""
        steps: Counter[str] = Counter()
        places: dict[str, set[object]] = {}
        for needs in (needs for item in self.items for needs in item.needs):
            steps.update(unit.name for unit, bit in UNIT_BIT.items() if needs.units & bit)
            steps.update(f"writes of {memory.name}" for memory, _ in needs.writes)
            for memory, region in needs.reads:
                places.setdefault(f"reads of {memory.name}", set()).add(region)
            for memory, region in (*needs.reads, *needs.writes):
                if memory in LOCAL:  # one address a step, for both
                    places.setdefault(memory.name, set()).add(region)
        return {**steps, **{name: len(found) for name, found in places.items()}, **self._transfers()}

    def _transfers(self) -> dict[str, int]:
        """Steps in which MVs read or write the busiest instance of each memory."""
        steps: Counter[tuple[str, int]] = Counter()
        for timing in (item.rows[0][0].timing for item in self.items if item.is_transfer):
            assert timing is not None
            for memory, instance, write in timing.ports:
                direction = "to and from" if write is None else "to" if write else "from"
                steps[f"MV {direction} {memory.name}", instance] += timing.data_steps
        busiest: dict[str, int] = {}
        for (name, _), count in steps.items():
            busiest[name] = max(count, busiest.get(name, 0))
        return busiest

    def recurrence_bound(self) -> int:
        """The least interval that every cycle of dependences allows: the greatest quotient of its steps and its
        distance, rounded up."""
        low, high = 1, 1 + sum(max(0, edge.steps) for edge in self.edges)
        while low < high:
            middle = (low + high) // 2
            if self.heights(middle) is None:
                low = middle + 1
            else:
                high = middle
        return low

    def least_interval(self) -> int:
        """Steps between two iterations that no schedule undercuts."""
        return max(1, self.recurrence_bound(), *self.resource_bounds().values())

    def heights(self, interval: int) -> list[int] | None:
        """Longest path from each item, when iterations are `interval` steps apart; None if some cycle of dependences
        takes longer than the iterations that it spans."""
        heights = np.zeros(len(self.items), np.int64)
        if not self.edges:
            return heights.tolist()
        before, after, steps, distance = np.array(self.edges, np.int64).T
        weights: NDArray[np.int64] = steps - interval * distance
        farthest = np.maximum(weights, 0).sum()  # no path that visits nothing twice is longer
        for _ in range(len(self.items) + 1):
            longer = heights.copy()
            np.maximum.at(longer, before, heights[after] + weights)
            if (longer == heights).all():
                return heights.tolist()
            heights = longer
            if heights.max() > farthest:
                return None
        return None
