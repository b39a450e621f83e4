"""Sums of tensors that are padded to different places are joined tensors: gradients of slices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import attrgetter
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import SIGN_OF_ZERO, build, operands_of, result_of
from mnc.passes.graph.matching import has_one_use, is_float, producer, shape_of
from mnc.passes.graph.ranges import sign_of_zero_is_seen
from mnc.passes.graph.tensors.views import ints


@dataclass(frozen=True)
class _Piece:
    """A tensor with zeros before and behind it along an axis: it is in `first` to `last` of the sum."""

    value: ir.Value
    axis: int
    first: int
    last: int


class JoinedPieces(Pattern):
    """``pad(x, behind) + pad(y, before) -> concat(x, y)``, and so for more terms, with zeros where none has a piece."""

    root = "graph.add"

    def match(self, op: Any) -> Any:
        users = [use.owner for use in result_of(op).uses]
        if len(users) == 1 and users[0].operation.name == self.root and result_of(users[0]).type == result_of(op).type:
            return None  # a term of that sum
        terms = list(_terms(op))
        whole = [term for term in terms if term.type == result_of(op).type]
        found = {term: piece for term in whole if (piece := _piece(term)) is not None}
        axes = {piece.axis for piece in found.values()}
        if len(found) < 2 or len(axes) > 1:
            return None
        pieces = sorted(found.values(), key=attrgetter("first"))
        if any(one.last > other.first for one, other in pairwise(pieces)):
            return refuse("the pieces overlap")
        if is_float(result_of(op)) and sign_of_zero_is_seen(result_of(op)):
            return refuse(SIGN_OF_ZERO)
        return pieces, [term for term in terms if term not in found]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        pieces, others = match
        rewriter.replace_op(op, [reduce(partial(build, "add"), others, _joined(pieces, shape_of(result_of(op))))])


def _terms(op: Any) -> Iterator[ir.Value]:
    """What is added up, if all of it has the shape of the sum where it is a sum itself."""
    for value in operands_of(op):
        inner = producer(value, "add")
        if inner is not None and has_one_use(value) and value.type == result_of(op).type:
            yield from _terms(inner)
        else:
            yield value


def _piece(value: ir.Value) -> _Piece | None:
    """What a term is if zeros surround it along one axis."""
    padding = producer(value, "pad")
    if padding is None or padding.operation.attributes["mode"].value != "constant":
        return None
    if padding.operation.attributes["value"].value != 0 or not has_one_use(value):
        return None
    low, high = ints(padding, "low"), ints(padding, "high")
    padded = [i for i, around in enumerate(zip(low, high, strict=True)) if any(around)]
    if len(padded) != 1:
        return None
    (axis,), (operand,) = padded, operands_of(padding)
    return _Piece(operand, axis, low[axis], low[axis] + shape_of(operand)[axis])


def _joined(pieces: Sequence[_Piece], shape: Sequence[int]) -> ir.Value:
    """The pieces one after the other in a tensor of this shape."""
    axis, end = pieces[0].axis, pieces[0].first
    total: ir.Value | None = None
    for piece in pieces:
        own = _padded(piece.value, axis, piece.first - end, 0)
        total = own if total is None else build("concat", total, own, axis=axis)
        end = piece.last
    assert total is not None
    return _padded(total, axis, pieces[0].first, shape[axis] - end)


def _padded(value: ir.Value, axis: int, before: int, behind: int) -> ir.Value:
    if not before and not behind:
        return value
    low, high = ([n if i == axis else 0 for i in range(len(shape_of(value)))] for n in (before, behind))
    return build("pad", value, low=low, high=high, value=ir.FloatAttr.get_f32(0.0), mode="constant")


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [JoinedPieces()]
