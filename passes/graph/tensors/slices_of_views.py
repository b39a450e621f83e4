"""Slices move before transpositions and reshapes, also several slices that share a tensor out, as queries, keys and
values do."""

from collections.abc import Sequence
from itertools import islice, pairwise
from math import prod
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import operands_of, result_of
from mnc.passes.graph.matching import has_one_use, producer, reshaped, shape_of, size_of
from mnc.passes.graph.tensors.slices import Early
from mnc.passes.graph.tensors.transposes import inverse, transposed
from mnc.passes.graph.tensors.views import Ranges, ints, ranges_of, sliced

FEW = 8
"""Parts at most that a tensor is shared out in, where what makes it is done for each of them: not the steps of a
sequence."""


def is_shared_out(value: ir.Value) -> bool:
    """Whether a tensor is read by few slices only, each of which takes neighbours along one and the same dimension, and
    no element of which another has, too."""
    parts = [use.owner.operation for use in islice(value.uses, FEW + 1)]
    if not 0 < len(parts) <= FEW or any(part.name != "graph.slice" for part in parts):
        return False
    ranges = [ranges_of(part) for part in parts]
    extents = shape_of(value)
    cut = {d for own in ranges for d, r in enumerate(own) if len(r) < extents[d]}
    if len(cut) != 1 or any(r.step != 1 or not r for own in ranges for r in own):
        return False
    (axis,) = cut
    taken = sorted((own[axis].start, own[axis].stop) for own in ranges)
    return all(before[1] <= after[0] for before, after in pairwise(taken))


def _groups(source: Sequence[int], result: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The dimensions of two shapes of equally many elements, none of them 1, in the smallest groups that have equally
    many elements."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source):
        own, other = [i], [j]
        i, j = i + 1, j + 1
        while (a := prod(source[d] for d in own)) != (b := prod(result[d] for d in other)):
            if a < b:
                own.append(i)
                i += 1
            else:
                other.append(j)
                j += 1
        groups.append((own, other))
    return groups


def _run(extents: Sequence[int], ranges: Ranges) -> range | None:
    """The elements that ranges of dimensions take, by their numbers, if those are neighbours."""
    partial = [d for d, (r, extent) in enumerate(zip(ranges, extents, strict=True)) if r != range(extent)]
    last = max(partial, default=0)
    if any(r.step != 1 for r in ranges) or any(len(ranges[d]) > 1 for d in range(last)):
        return None
    first = sum(r.start * prod(extents[d + 1 :]) for d, r in enumerate(ranges))
    return range(first, first + prod(map(len, ranges)))


def _box(extents: Sequence[int], run: range) -> Ranges | None:
    """The inverse of `_run`; None where neighbours are no box."""
    for d, extent in enumerate(extents):
        inner = prod(extents[d + 1 :])
        if run.start % inner or len(run) % inner or run.start // inner % extent + len(run) // inner > extent:
            continue
        before = [run.start // prod(extents[i + 1 :]) % extents[i] for i in range(d)]
        start = run.start // inner % extent
        return [
            *(range(own, own + 1) for own in before),
            range(start, start + len(run) // inner),
            *(range(own) for own in extents[d + 1 :]),
        ]
    return None


def ranges_before_reshape(source: Sequence[int], result: Sequence[int], ranges: Ranges) -> Ranges | None:
    """What a slice of a reshaped tensor takes of the tensor before; None where that is no slice, or where it takes
    single elements of dimensions that the reshape changes."""
    wide = [d for d, extent in enumerate(source) if extent > 1], [d for d, extent in enumerate(result) if extent > 1]
    found = [range(extent) for extent in source]
    for own, other in _groups([source[d] for d in wide[0]], [result[d] for d in wide[1]]):
        own, other = [wide[0][i] for i in own], [wide[1][j] for j in other]
        if len(own) == len(other) == 1:
            found[own[0]] = ranges[other[0]]
            continue
        run = _run([result[d] for d in other], [ranges[d] for d in other])
        box = None if run is None else _box([source[d] for d in own], run)
        if box is None:
            return None
        for d, r in zip(own, box, strict=True):
            found[d] = r
    return found


class BeforeView(Early):
    """Base: a slice after a view whose only use it is, or that is shared out."""

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], *self.before)
        result = result_of(op)
        if inner is None or not 0 < size_of(result) < size_of(operands_of(op)[0]):
            return None
        if not (has_one_use(operands_of(op)[0]) or is_shared_out(operands_of(op)[0])):
            return refuse("its operand has other uses, and is not shared out among a few slices")
        return inner


class BeforeTranspose(BeforeView):
    """``x^T[r] -> x[r']^T``."""

    before = ("transpose",)

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        permutation = ints(inner, "permutation")
        x = sliced(operands_of(inner)[0], [ranges[i] for i in inverse(permutation)])
        return transposed(x, permutation)


class BeforeReshape(BeforeView):
    """``reshape(x)[r] -> reshape(x[r'])`` where the slice takes neighbours of x, as the heads of a part of features do,
    or only dimensions of extent 1 come or go, as around the steps of a sequence: there it may find the concatenation of
    the steps."""

    before = ("reshape",)

    def match(self, op: Any) -> Any:
        inner = super().match(op)
        if not isinstance(inner, ir.OpView):
            return inner
        shapes = (shape_of(operands_of(inner)[0]), shape_of(result_of(inner)))
        before, after = ([extent for extent in shape if extent > 1] for shape in shapes)
        if before == after and not has_one_use(operands_of(op)[0]) and len(ranges_of(op)[-1]) == after[-1]:
            return refuse("the reshape only adds or drops dimensions of 1, and no columns of a product are taken")
        found = ranges_before_reshape(*shapes, ranges_of(op))
        return inner if found is not None else refuse("what it takes is no slice of the tensor before the reshape")

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        x = operands_of(inner)[0]
        found = ranges_before_reshape(shape_of(x), shape_of(result_of(inner)), ranges)
        assert found is not None
        return reshaped(sliced(x, found), [len(own) for own in ranges])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [BeforeTranspose(), BeforeReshape()]
