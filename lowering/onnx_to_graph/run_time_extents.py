"""Extents of values that a run finds. A value has room for as many elements as there may be: those that count come
first, behind them is padding, and a number that the machine computes says how many count.

Which operators take such values, and what becomes of the extents, is in `extent_rules`; all others refuse them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.run_time_extents import RunTimeExtent
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import cast, constant, reshape

LARGEST = 16_777_216
"""Numbers up to this are exact as single floats."""


@dataclass(frozen=True)
class Count:
    """How many elements count: a scalar in single precision, which holds every integer up to 2**24, and the most that
    it may be. Two extents are the same if they have one scalar. `picked`: the mask whose true elements it counts, and
    their indices, a row for each dimension."""

    number: Any
    most: int
    picked: tuple[Any, Any] | None = None

    def integer(self, shape: Iterable[int] = ()) -> Any:
        """The number in 64 bits, in a shape of one element."""
        return reshape(cast(self.number, ir.IntegerType.get_signless(64)), list(shape))

    def valid(self, dimension: int = 0, rank: int = 1) -> Any:
        """Truth values along a dimension: whether an element counts."""
        places = np.arange(self.most, dtype=np.float32)
        shape = [self.most if i == dimension else 1 for i in range(rank)]
        return graph.Less.build(constant(places.reshape(shape)), self.number).result


COUNTING = frozenset(["Compress", "NonMaxSuppression", "NonZero", "Unique"])
"""Operators whose results have extents that a run finds."""

Extents = Mapping[int, Count]
"""The dimensions of a value whose extents a run finds."""


def result_extents(
    names: list[str], extents: Mapping[str, Extents], taken: Iterable[str]
) -> tuple[list[RunTimeExtent], dict[str, Any]]:
    """The notes on the outputs `names` of a model, and the counts that they refer to by names not in `taken`."""
    notes: list[RunTimeExtent] = []
    counts: dict[str, Any] = {}
    known: dict[Any, str] = {}
    for name in dict.fromkeys(names):
        for dimension, count in sorted(extents.get(name, {}).items()):
            if count.number not in known:
                own = _free_name(f"{name}.rows", {*taken, *counts})
                known[count.number], counts[own] = own, count.integer()
            notes.append(RunTimeExtent(name, dimension, known[count.number]))
    return notes, counts


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name
