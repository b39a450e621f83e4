"""Chains of transpositions and reshapes become a reshape, a transposition and a reshape at most.

Exporters write the heads of attention in steps: features are split, heads joined with batches, rows and heads
exchanged, and both taken apart again. Every step between is a tensor whose dimensions hide those of the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import refuse
from mnc.passes.graph.algebra.common import RootedPattern, build, operands_of, result_of
from mnc.passes.graph.matching import has_one_use, producer, reshaped, shape_of
from mnc.passes.graph.tensors.views import ints

Shape = tuple[int, ...]
Dims = list[list[int]]
"""Per dimension its factors, outermost first."""


@dataclass
class Factors:
    """A tensor whose dimensions are products of factors of those of another one.

    Attributes:
        sizes: the factors, in the order in which the source has them, none of them 1.
        source: per dimension of the source the numbers of its factors.
        dims: the same of the tensor.
    """

    sizes: list[int]
    source: Dims = field(default_factory=list)
    dims: Dims = field(default_factory=list)

    @classmethod
    def of(cls, shape: Sequence[int]) -> "Factors":
        """The source itself."""
        wide = [d for d, extent in enumerate(shape) if extent > 1]
        numbers = [[wide.index(d)] if d in wide else [] for d in range(len(shape))]
        return cls([shape[d] for d in wide], [list(own) for own in numbers], numbers)

    def transpose(self, permutation: Sequence[int]) -> None:
        """Exchange dimensions."""
        self.dims = [self.dims[d] for d in permutation]

    def reshape(self, shape: Sequence[int]) -> bool:
        """Take dimensions apart and join them; False if factors have no common divisors for that."""
        made: Dims = []
        for extent in shape:
            made.append([])
            while extent > 1:
                taken = sum(map(len, made))
                factor = [number for own in self.dims for number in own][taken]
                size = self.sizes[factor]
                if extent % size == 0:
                    made[-1].append(factor)
                    extent //= size
                elif size % extent == 0:
                    made = self._split(factor, extent, made)
                else:
                    return False
        self.dims = made
        return True

    def _split(self, factor: int, outer: int, made: Dims) -> Dims:
        """Make two factors of one; returns what is `made` so far in the new numbers."""
        self.sizes[factor : factor + 1] = [outer, self.sizes[factor] // outer]

        def renumbered(dims: Dims) -> Dims:
            return [
                [new for n in own for new in ((n, n + 1) if n == factor else (n + (n > factor),))] for own in dims
            ]

        self.source, self.dims = renumbered(self.source), renumbered(self.dims)
        return renumbered(made)


@dataclass(frozen=True)
class Turn:
    """A source is reshaped to `shape`, transposed, and reshaped again."""

    shape: Shape
    permutation: tuple[int, ...]

    @property
    def turned(self) -> Shape:
        """The shape after the transposition."""
        return tuple(self.shape[d] for d in self.permutation)

    @property
    def is_reshape(self) -> bool:
        """Whether the transposition moves no element."""
        wide = [d for d in self.permutation if self.shape[d] > 1]
        return wide == sorted(wide)

    def operations(self, source: Shape, result: Shape) -> int:
        """How many are needed from one shape to another."""
        if self.is_reshape:
            return int(source != result)
        return (source != self.shape) + 1 + (self.turned != result)


def _runs(order: Dims, other: Dims) -> Dims:
    """The factors of dimensions in runs that are neighbours in the `other` order, too; dimensions of 1 are empty."""
    after = {a: b for own in other for a, b in pairwise(own)}
    runs: Dims = []
    for own in order:
        runs.append([])
        for number in own:
            if runs[-1] and after.get(runs[-1][-1]) != number:
                runs.append([])
            runs[-1].append(number)
    return runs


def _in_order(runs: Dims, order: Dims) -> list[int]:
    """The numbers of runs in another order of their factors; one without factors stays behind the one before it."""
    place = {number: i for i, number in enumerate(n for own in order for n in own)}
    keys: list[tuple[float, int]] = []
    for i, run in enumerate(runs):
        keys.append((place[run[0]] if run else keys[-1][0] if keys else -1, i))
    return sorted(range(len(runs)), key=lambda i: keys[i])


def turns(factors: Factors) -> list[Turn]:
    """Ways to make the tensor of its source: with the dimensions of the tensor, with those of the source, and with as
    few as possible."""
    whole_source, whole = ([[n for own in dims for n in own]] for dims in (factors.source, factors.dims))
    found = []
    for dims in (factors.dims, whole):
        runs = _runs(dims, whole_source)
        order = _in_order(runs, factors.source)
        shape = tuple(prod(factors.sizes[n] for n in runs[i]) for i in order)
        found.append(Turn(shape, tuple(order.index(i) for i in range(len(runs)))))
    runs = _runs(factors.source, whole)
    shape = tuple(prod(factors.sizes[n] for n in run) for run in runs)
    return [found[0], Turn(shape, tuple(_in_order(runs, factors.dims))), found[1]]


def shortest_turn(source: Shape, views: Sequence[tuple[str, Sequence[int]]]) -> tuple[Turn, int] | None:
    """The way with the fewest operations to do what transpositions (``transpose``, permutation) and reshapes
    (``reshape``, shape) do one after another, and how many those are; None where their dimensions have no common
    divisors."""
    if 0 in source:
        return None
    factors, result = Factors.of(source), source
    for kind, numbers in views:
        if kind == "transpose":
            factors.transpose(numbers)
            result = tuple(result[d] for d in numbers)
        elif factors.reshape(numbers):
            result = tuple(numbers)
        else:
            return None
    counted = [(turn, turn.operations(source, result)) for turn in turns(factors)]
    return min(counted, key=lambda own: own[1])


class Chain(RootedPattern):
    """``reshape(transpose(reshape(transpose(...))))`` -> fewer of them."""

    def match(self, op: Any) -> Any:
        source, views = self._chain(op)
        if len(views) < 2:
            return None
        found = shortest_turn(shape_of(source), views)
        if found is None:
            return refuse("its dimensions have no common divisors")
        return (source, found[0]) if found[1] < len(views) else None

    @staticmethod
    def _chain(op: Any) -> tuple[ir.Value, list[tuple[str, Sequence[int]]]]:
        """Where the views come from that end in an operation, and what they do, the first one first. Values between
        them have no other uses: for these they would be made twice."""
        views: list[tuple[str, Sequence[int]]] = []
        while op is not None:
            is_turn = op.operation.name == "graph.transpose"
            views.append(("transpose", ints(op, "permutation")) if is_turn else ("reshape", shape_of(result_of(op))))
            source = operands_of(op)[0]
            op = producer(source, "transpose", "reshape") if has_one_use(source) else None
        return source, views[::-1]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        value, turn = match
        if not turn.is_reshape:
            value = build("transpose", reshaped(value, turn.shape), permutation=list(turn.permutation))
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


def patterns() -> list[Chain]:
    """All patterns of this file."""
    return [Chain("transpose"), Chain("reshape")]
