"""Reads decisions from numbers and appends graph operations that take any earlier value."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph import shapes
from mnc.passes.graph.matching import shape_of

MOST_ELEMENTS, LARGEST_RANK = 160, 4


class Builder:
    """Reads the numbers of a step and appends operations; `values` are all that a later step may take."""

    def __init__(self, arguments: Sequence[ir.Value], dtype: str) -> None:
        self.values, self.dtype = list(arguments), dtype
        self.numbers: Iterator[int] = iter(())

    def take(self, count: int) -> int:
        """A number below `count`; 0 where the step has no more."""
        return next(self.numbers, 0) % count

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.take(len(items))]

    def of(self, kind: str, rank: int = 0, fits: Callable[[tuple[int, ...]], bool] = lambda shape: True) -> ir.Value:
        """One of the values of a kind ``f``, ``i`` or ``b`` and at least this rank; raises IndexError if none.

        Small numbers take the last ones, so that chains grow.
        """
        found = [v for v in self.values if kind_of(v) == kind and len(shape_of(v)) >= rank and fits(shape_of(v))]
        if not found:
            raise IndexError(kind)
        return found[-1 - self.take(len(found))]

    def partner(self, value: ir.Value) -> ir.Value:
        """A value of the same kind that broadcasts with `value`: that itself, the most recent or any other."""
        return self.of(kind_of(value), fits=lambda shape: broadcasts(shape, shape_of(value)))

    def constant(self, array: Any, kind: str = "f") -> ir.Value:
        dtype = {"f": self.dtype, "i": "int64", "b": "bool"}[kind]
        return graph.Constant.build(value=graph.dense(np.asarray(array).astype(dtype))).operation.results[0]

    def add(self, name: str, *operands: ir.Value, **attributes: Any) -> None:
        results = graph.OPERATIONS[f"graph.{name}"].build(*operands, **attributes).operation.results
        self.values += [r for r in results if is_small(shape_of(r))]

    def axes(self, rank: int) -> list[int]:
        return [i for i in range(rank) if self.take(2)]

    def typed(self, shape: Sequence[int], value: ir.Value) -> Any:
        return graph.tensor(list(shape), ir.RankedTensorType(value.type).element_type)


def kind_of(value: ir.Value) -> str:
    """``f``, ``i`` or ``b``."""
    name = str(ir.RankedTensorType(value.type).element_type)
    return "b" if name == "i1" else name[0]


def broadcasts(*many: Sequence[int]) -> bool:
    """Whether shapes broadcast to one that is not too large."""
    try:
        shape = shapes.broadcast(*many)
    except ValueError:
        return False
    return is_small(shape)


def is_small(shape: Sequence[int]) -> bool:
    """Whether a later step may take a tensor of this shape."""
    return len(shape) <= LARGEST_RANK and math.prod(shape) <= MOST_ELEMENTS
