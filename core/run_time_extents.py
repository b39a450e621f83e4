"""Extents that a run finds: a program computes as many rows as there may be, and how many of them count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RunTimeExtent:
    """Dimension `dimension` of the result `output` ends where the result `count`, an integer, says; behind that is
    padding."""

    output: str
    dimension: int
    count: str


def without_padding(
    results: Mapping[str, np.ndarray], extents: Sequence[RunTimeExtent]
) -> dict[str, np.ndarray]:
    """Results with the extents that the run found, and without the counts that say them."""
    counts = {entry.count for entry in extents}
    kept = {name: array for name, array in results.items() if name not in counts}
    for entry in extents:
        if entry.output in kept and entry.count in results:
            array = kept[entry.output]
            rows = [slice(None)] * array.ndim
            rows[entry.dimension] = slice(int(results[entry.count]))
            kept[entry.output] = np.ascontiguousarray(array[tuple(rows)])
    return kept
