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


def rows_that_count(
    extents: Sequence[RunTimeExtent], output: str, rank: int, results: Mapping[str, np.ndarray]
) -> tuple[slice, ...]:
    """What of the result `output` is no padding, for the counts among `results`; all where they hold none of it."""
    rows = [slice(None)] * rank
    for entry in extents:
        if entry.output == output and entry.count in results:
            rows[entry.dimension] = slice(int(results[entry.count]))
    return tuple(rows)


def without_padding(
    results: Mapping[str, np.ndarray], extents: Sequence[RunTimeExtent]
) -> dict[str, np.ndarray]:
    """Results with the extents that the run found, and without the counts that say them."""
    counts = {entry.count for entry in extents}
    kept = {name: array for name, array in results.items() if name not in counts}
    for name in {entry.output for entry in extents} & kept.keys():
        kept[name] = np.ascontiguousarray(kept[name][rows_that_count(extents, name, kept[name].ndim, results)])
    return kept
