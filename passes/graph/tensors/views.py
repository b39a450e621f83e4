"""Operations that only move elements, directly after one another or doing nothing."""

import math
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import RootedPattern, build, operands_of, result_of
from mnc.passes.graph.matching import broadcast_to, constant_of, producer, reshaped, shape_of

Ranges = list[range]


def ints(op: Any, name: str) -> list[int]:
    """An ``array<i64>`` attribute."""
    return list(op.operation.attributes[name])


def ranges_of(op: Any) -> Ranges:
    """The elements that a slice takes of each dimension."""
    return [range(*triple) for triple in zip(*(ints(op, n) for n in ("starts", "limits", "steps")), strict=True)]


def sliced(value: ir.Value, ranges: Ranges) -> ir.Value:
    """A slice of non-empty ranges; `value` itself if that is everything."""
    if all(r == range(extent) for r, extent in zip(ranges, shape_of(value), strict=True)):
        return value
    limits = [r[-1] + (1 if r.step > 0 else -1) for r in ranges]
    return build("slice", value, starts=[r[0] for r in ranges], limits=limits, steps=[r.step for r in ranges])


class DoesNothing(RootedPattern):
    """transpose, reshape, slice, pad, broadcast_to that return their operand unchanged."""

    def match(self, op: Any) -> Any:
        operand = operands_of(op)[0]
        if operand.type != result_of(op).type:
            return None
        if self.root == "graph.transpose":
            permutation = ints(op, "permutation")
            return True if permutation == sorted(permutation) else None
        if self.root == "graph.slice":
            same = all(r == range(extent) for r, extent in zip(ranges_of(op), shape_of(operand), strict=True))
            return True if same else None
        return True

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [operands_of(op)[0]])


class EmptyPart(Pattern):
    """``concat(x, empty) -> x``."""

    root = "graph.concat"

    def match(self, op: Any) -> Any:
        return next((v for v in operands_of(op) if v.type == result_of(op).type), None)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [match])


class Twice(RootedPattern):
    """transpose of transpose, reshape of reshape, broadcast of broadcast: one operation."""

    def match(self, op: Any) -> Any:
        return producer(operands_of(op)[0], self.root.removeprefix("graph."))

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, shape = operands_of(match)[0], shape_of(result_of(op))
        if self.root == "graph.transpose":
            inner = ints(match, "permutation")
            value = build("transpose", x, permutation=[inner[i] for i in ints(op, "permutation")])
        else:
            value = reshaped(x, shape) if self.root == "graph.reshape" else broadcast_to(x, shape)
        rewriter.replace_op(op, [value])


class SliceOfSlice(Pattern):
    """``x[a][b] -> x[c]``."""

    root = "graph.slice"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "slice")
        if inner is None or 0 in shape_of(result_of(op)):
            return None
        return inner, [first[r.start : r.stop if r.stop >= 0 else None : r.step]
                       for first, r in zip(ranges_of(inner), ranges_of(op), strict=True)]  # fmt: skip

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [sliced(operands_of(match[0])[0], match[1])])


class SliceOfPad(Pattern):
    """A slice that takes nothing of the padding is a slice of the operand."""

    root = "graph.slice"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "pad")
        if inner is None or 0 in shape_of(result_of(op)):
            return None
        x = operands_of(inner)[0]
        moved = [range(r.start - low, r.stop - low, r.step)
                 for r, low in zip(ranges_of(op), ints(inner, "low"), strict=True)]  # fmt: skip
        inside = all(min(r) >= 0 and max(r) < extent for r, extent in zip(moved, shape_of(x), strict=True))
        return (x, moved) if inside else refuse("the slice contains padding")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [sliced(*match)])


class PadOfPad(Pattern):
    """Padding with one value, twice -> once."""

    root = "graph.pad"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "pad")
        if inner is None:
            return None
        modes = {o.operation.attributes["mode"].value for o in (op, inner)}
        values = [o.operation.attributes["value"].value for o in (op, inner)]
        if modes != {"constant"} or not (values[0] == values[1] or all(map(math.isnan, values))):
            return refuse("the paddings have different values or copy elements")
        return inner

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        low, high = ([a + b for a, b in zip(ints(op, n), ints(match, n), strict=True)] for n in ("low", "high"))
        value = op.operation.attributes["value"]
        rewriter.replace_op(op, [build("pad", operands_of(match)[0], low=low, high=high, value=value, mode="constant")])


class ConcatOfSlices(Pattern):
    """``concat(x[a:b], x[b:c]) -> x[a:c]``."""

    root = "graph.concat"

    def match(self, op: Any) -> Any:
        left, right = (producer(value, "slice") for value in operands_of(op))
        if left is None or right is None or operands_of(left)[0] != operands_of(right)[0]:
            return None
        axis = op.operation.attributes["axis"].value
        first, second = ranges_of(left), ranges_of(right)
        a, b = first[axis], second[axis]
        others = all(f == s for i, (f, s) in enumerate(zip(first, second, strict=True)) if i != axis)
        if 0 in shape_of(result_of(op)) or not a or not b or not others or a.step != b.step or b[0] - a[-1] != a.step:
            return refuse("the slices do not adjoin")
        first[axis] = range(a[0], b[-1] + (1 if a.step > 0 else -1), a.step)
        return operands_of(left)[0], first

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [sliced(*match)])


class RegularGather(Pattern):
    """A gather whose constant indices are equally spaced is a slice."""

    root = "graph.gather"

    def match(self, op: Any) -> Any:
        x, indices = operands_of(op)
        array, axis = constant_of(indices), op.operation.attributes["axis"].value
        if array is None:
            return None
        extent = shape_of(x)[axis]
        found = [int(i) + extent if i < 0 else int(i) for i in array.ravel()]
        if array.ndim > 1 or not found or 0 in shape_of(x):
            return None
        step = found[1] - found[0] if len(found) > 1 else 1
        if step == 0 or found != list(range(found[0], found[-1] + (1 if step > 0 else -1), step)):
            return refuse("the indices are not equally spaced")
        return [range(found[0], found[-1] + (1 if step > 0 else -1), step) if i == axis else range(n)
                for i, n in enumerate(shape_of(x))]  # fmt: skip

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [reshaped(sliced(operands_of(op)[0], match), shape_of(result_of(op)))])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [
        *(DoesNothing(kind) for kind in ("transpose", "reshape", "slice", "pad", "broadcast_to")),
        *(Twice(kind) for kind in ("transpose", "reshape", "broadcast_to")),
        EmptyPart(),
        SliceOfSlice(),
        SliceOfPad(),
        PadOfPad(),
        ConcatOfSlices(),
        RegularGather(),
    ]
