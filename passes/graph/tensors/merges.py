"""Reshapes that merge dimensions move behind reductions and behind element-wise work with what is broadcast along them.

A reshape splits dimensions and then merges some: 32x13x13 -> 8x4x13x13 -> 8x676. The merge moves, the split stays. So a
group normalisation, which other frameworks write as an instance normalisation between two reshapes, works where its
tensor is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import RootedPattern, build, operands_of, result_of
from mnc.passes.graph.matching import is_constant, producer, reshaped, shape_of, size_of
from mnc.passes.graph.tensors.kinds import BINARY, rebuilt_elementwise
from mnc.passes.graph.tensors.views import ints


@dataclass(frozen=True)
class Merge:
    """`shape`: the dimensions after the split; `groups`: which of them every dimension of the result is made of."""

    shape: tuple[int, ...]
    groups: tuple[range, ...]


def find_merge(source: Sequence[int], target: Sequence[int]) -> Merge | None:
    """The coarsest split for a reshape; None if it merges nothing, or if the dimensions have no common split."""
    if 0 in source:
        return None
    inner, outer = (list(accumulate(shape, mul)) for shape in (source, target))  # elements up to each dimension
    borders = sorted({1, *inner, *outer})
    if any(end % start for start, end in pairwise(borders)):
        return None
    shape = tuple(end // start for start, end in pairwise(borders))
    groups = tuple(
        range(borders.index(end // extent), borders.index(end)) for end, extent in zip(outer, target, strict=True)
    )
    return Merge(shape, groups) if any(len(group) > 1 for group in groups) else None


def _merging(value: ir.Value) -> tuple[ir.Value, Merge] | None:
    """What a value is reshaped from and how, if that merges dimensions."""
    reshape = producer(value, "reshape")
    if reshape is None:
        return None
    source = operands_of(reshape)[0]
    merge = find_merge(shape_of(source), shape_of(value))
    return None if merge is None else (source, merge)


class BehindReduction(Pattern):
    """``reduce(merge(x)) -> merge(reduce(x))``."""

    root = "graph.reduce"

    def match(self, op: Any) -> Any:
        found = _merging(operands_of(op)[0])
        if found is None:
            return None
        axes = [i for axis in ints(op, "axes") for i in found[1].groups[axis]]
        return (*found, axes) if axes else refuse("one element is reduced")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        source, merge, axes = match
        kind = op.operation.attributes["kind"]
        value = build("reduce", reshaped(source, merge.shape), kind=kind, axes=axes, keepdims=False)
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


class BehindBroadcast(RootedPattern):
    """``f(merge(x), y) -> merge(f(x, y))`` where y has all of a merged dimension, or one element for all of it."""

    def match(self, op: Any) -> Any:
        result = shape_of(result_of(op))
        for number, (value, other) in enumerate(zip(operands_of(op), reversed(operands_of(op)), strict=True)):
            found = _merging(value) if shape_of(value) == result else None
            if found is None:
                continue
            if size_of(other) == math.prod(result) and not is_constant(other):
                return refuse("the other operand would be reshaped instead, and is as large")
            return number, *found
        return None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        number, source, merge = match
        other = operands_of(op)[1 - number]
        extents = (*[1] * (len(merge.groups) - len(shape_of(other))), *shape_of(other))
        shape = [1] * len(merge.shape)
        for group, extent in zip(merge.groups, extents, strict=True):
            for i in group if extent > 1 else ():
                shape[i] = merge.shape[i]
        operands = [reshaped(source, merge.shape), reshaped(other, shape)]
        value = rebuilt_elementwise(op, *(operands if number == 0 else reversed(operands)))
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [BehindReduction(), *(BehindBroadcast(kind) for kind in BINARY)]
