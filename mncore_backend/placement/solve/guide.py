"""A solution that is known, and how far states are from it.

A search that looks ahead to the next products only gives up states that pay off later. What a known solution costs to
the end is no guess: from any state it can be reached by bringing every tensor to where it is there. So a state that is
cheap together with that leads to something that is not much dearer than the known solution, and perhaps cheaper.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.solve.borders import Borders
from mnc.mncore_backend.placement.solve.state import State


@dataclass(frozen=True)
class Guide:
    """The way to a known solution. `weight`: what a step of a movement counts."""

    known: State
    borders: Borders
    movements: Movements
    weight: float
    _steps: dict[int, float] = field(default_factory=dict)

    def distance(self, places: Iterable[int]) -> float:
        """Weighted steps to bring tensors from these places to where the known solution has them."""
        steps, total = self._steps, 0.0
        for place in places:
            own = steps.get(place)
            if own is None:
                own = steps[place] = self._moved(place)
            total += own
        return total

    def _moved(self, place: int) -> float:
        tensor, layout = self.borders.place(place)
        there = self.known.layouts.get(tensor)
        found = None if there is None else self.movements.relayout(layout, there)
        return 0.0 if found is None else self.weight * found[1]
