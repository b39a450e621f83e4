"""What the steps of a sequence read and write of it: rows, each a single index of one dimension of a tensor.

A recurrence reads a row of its input in every step (scanned) and leaves a row of its result (stacked), beside what it
carries from step to step. Rows of all steps are one behind the other, in the order of the steps or against it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from mnc.core.bindings import ir, tensor
from mnc.lowering.linalg_to_spmd.reading import shape_of
from mnc.lowering.linalg_to_spmd.rearranging import RESHAPES, before_reshapes
from mnc.lowering.linalg_to_spmd.slices import range_of


class Row(NamedTuple):
    """One index of a dimension of a tensor."""

    dim: int
    index: int


@dataclass(frozen=True)
class Scanned:
    """A tensor of which every layer reads another row: the operation of a layer, by number, that takes it, the tensor,
    the dimension, and the rows of all layers."""

    number: int
    source: Any
    dim: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Stacked:
    """Rows that layers make for a concatenation, and those that are made before them, one behind the other.

    Attributes:
        whole: the concatenation.
        start, rows: of its operands the first of these rows, and those of all layers, counted from there.
        others: by row, what is not made by layers.
    """

    whole: Any
    start: int
    rows: tuple[int, ...]
    others: tuple[tuple[int, Any], ...]

    @property
    def dim(self) -> int:
        """The dimension of which each row is an index."""
        return ir.IntegerAttr(self.whole.attributes["dim"]).value

    @property
    def count(self) -> int:
        """All rows."""
        return len(self.rows) + len(self.others)

    @property
    def first(self) -> Any:
        """The row that the first layer makes."""
        return self.whole.operands[self.start + self.rows[0]]

    def shortened(self, count: int) -> "Stacked":
        """The same with so many layers: what the others make is not among the rows, nor is what lies behind that."""
        if count == len(self.rows):
            return self
        rows, is_forward = self.rows[:count], self.rows[0] < self.rows[-1]
        near = [(row, value) for row, value in self.others if (row < rows[0]) == is_forward]
        first = min(rows[-1], *(row for row, _ in near), rows[0])
        others = tuple((row - first, value) for row, value in near)
        return replace(self, start=self.start + first, rows=tuple(row - first for row in rows), others=others)

    @property
    def values(self) -> list[Any]:
        """All rows in order."""
        return list(self.whole.operands)[self.start : self.start + self.count]


def row_taken(op: Any) -> Row | None:
    """The row that an operation takes, if it is a slice of one index of one dimension, and of all of the others."""
    ranges = range_of(op)
    if ranges is None:
        return None
    narrow = [d for d, own in enumerate(zip(ranges, shape_of(op.operands[0]), strict=True)) if own[0][1] != own[1]]
    if len(narrow) != 1 or ranges[narrow[0]][1] != 1:
        return None
    return Row(narrow[0], ranges[narrow[0]][0])


def follow_one_another(rows: Sequence[int]) -> bool:
    """Whether rows are one behind the other, forwards or backwards."""
    return len(rows) > 1 and {b - a for a, b in pairwise(rows)} in ({1}, {-1})


def concatenations(users: Sequence[Any]) -> dict[Any, int] | None:
    """The concatenations that take a value, itself or another view of it, given those who read it, and which of their
    operands it is; None where anybody else reads it, or it is there twice."""
    found: dict[Any, int] = {}
    for user in users:
        op, value = user, None
        while op.name in RESHAPES and len(uses := list(op.results[0].uses)) == 1:
            value, op = op.results[0], uses[0].owner.operation
        if value is None or op.name != "tensor.concat" or op in found:
            return None
        places = [number for number, operand in enumerate(op.operands) if operand == value]
        if len(places) != 1:
            return None
        found[op] = places[0]
    return found


def stacked(whole: Any, places: Sequence[int], is_before: Callable[[Any], bool]) -> Stacked | None:
    """What a concatenation makes of the operands at these places, given layer by layer, and of those beside them that
    are made before the layers; None where any is more than one row, or rows do not follow one another."""
    dim, values = ir.IntegerAttr(whole.attributes["dim"]).value, list(whole.operands)
    if not follow_one_another(places):
        return None
    start, end = min(places), 1 + max(places)
    while start > 0 and is_before(before_reshapes(values[start - 1])):
        start -= 1
    while end < len(values) and is_before(before_reshapes(values[end])):
        end += 1
    if any(shape_of(value)[dim] != 1 for value in values[start:end]):
        return None
    others = tuple((row - start, values[row]) for row in range(start, end) if row not in places)
    return Stacked(whole, start, tuple(place - start for place in places), others)


def stack_apart(own: Stacked) -> Stacked:
    """The same rows in a concatenation of their own, of which the other one takes the result, with what is not among
    them."""
    values = list(own.whole.operands)
    if own.count == len(values):
        return own
    shape = list(shape_of(own.whole.results[0]))
    shape[own.dim] = own.count
    type_ = own.whole.results[0].type
    with own.whole.location, ir.InsertionPoint(own.whole):
        made = tensor.ConcatOp(ir.RankedTensorType.get(shape, type_.element_type), own.dim, own.values)
        rest = [*values[: own.start], made.result, *values[own.start + own.count :]]
        joined = tensor.ConcatOp(type_, own.dim, rest)
    own.whole.results[0].replace_all_uses_with(joined.result)
    own.whole.erase()
    return Stacked(made.operation, 0, own.rows, own.others)
