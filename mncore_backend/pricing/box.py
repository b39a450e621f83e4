"""Slices and joins: which elements of a source a result takes, and where."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Box:
    """A box of elements. Along each dimension element i of the result is element ``start + i * step`` of the source, if
    the source has that one; otherwise the result has nothing from it."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]

    @classmethod
    def at(cls, places: Sequence[int]) -> "Box":
        """A whole source at these indices of the result."""
        return cls(tuple(-place for place in places), (1,) * len(places))

    def shared(self, source: Sequence[int], result: Sequence[int]) -> list[range]:
        """Indices of the result that the source gives, by dimension. `source`, `result`: shapes."""
        found = []
        for before, after, start, step in zip(source, result, self.starts, self.steps, strict=True):
            first = max(0, -(start // step))
            found.append(range(first, max(first, min(after, (before - 1 - start) // step + 1))))
        return found

    def index_map(self, source: Sequence[int], result: Sequence[int]) -> NDArray[np.int64]:
        """The flat element of the source for each element of the result, -1 where there is none. `source`, `result`:
        shapes."""
        found = np.full(tuple(result), -1, np.int64)
        shared = self.shared(source, result)
        taken = [
            start + np.array(own, np.int64) * step
            for own, start, step in zip(shared, self.starts, self.steps, strict=True)
        ]
        numbers = np.arange(int(np.prod(source, dtype=np.int64)), dtype=np.int64).reshape(tuple(source))
        found[tuple(slice(own.start, own.stop) for own in shared)] = numbers[np.ix_(*taken)]
        return found
