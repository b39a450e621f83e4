"""Slices and gathers move before the work whose results they drop."""

from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import build, operands_of, result_of
from mnc.passes.graph.matching import broadcast_to, has_one_use, producer, rebuilt, shape_of, size_of
from mnc.passes.graph.tensors.kinds import ELEMENTWISE, UNARY, rebuilt_elementwise
from mnc.passes.graph.tensors.views import Ranges, ints, ranges_of, sliced

_OTHER_USES = "its operand has other uses, for which all of it is computed"


class Early(Pattern):
    """Base: a slice after one of `before`, whose only use it is."""

    root = "graph.slice"
    before: tuple[str, ...] = ()

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], *self.before)
        result = result_of(op)
        if inner is None or not 0 < size_of(result) < size_of(operands_of(op)[0]):
            return None
        if not has_one_use(operands_of(op)[0]):
            return refuse(_OTHER_USES)
        return inner

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [self.moved(match, ranges_of(op))])

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        """The slice of the result of `inner`, computed from slices of its operands."""
        raise NotImplementedError


def sliced_broadcast(value: ir.Value, ranges: Ranges) -> ir.Value:
    """The part of an operand that broadcasts to the sliced tensor."""
    shape = shape_of(value)
    own = ranges[len(ranges) - len(shape) :]
    return sliced(value, [range(1) if extent == 1 else r for r, extent in zip(own, shape, strict=True)])


class BeforeElementwise(Early):
    """``f(x, y)[r] -> f(x[r], y[r])``."""

    before = ELEMENTWISE

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        value = rebuilt_elementwise(inner, *(sliced_broadcast(v, ranges) for v in operands_of(inner)))
        return broadcast_to(value, [len(r) for r in ranges])


class BeforeBroadcast(Early):
    """``broadcast(x)[r] -> broadcast(x[r])``."""

    before = ("broadcast_to",)

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        return broadcast_to(sliced_broadcast(operands_of(inner)[0], ranges), [len(r) for r in ranges])


class BeforeReduction(Early):
    """``reduce(x)[r] -> reduce(x[r'])``."""

    before = ("reduce",)

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        x, axes = operands_of(inner)[0], ints(inner, "axes")
        left = iter(ranges)
        whole: Ranges = []
        for dimension, extent in enumerate(shape_of(x)):
            if dimension in axes:
                whole.append(range(extent))
                if inner.operation.attributes["keepdims"].value:
                    next(left)
            else:
                whole.append(next(left))
        return rebuilt(inner, sliced(x, whole))


class BeforeMatMul(Early):
    """``(a @ b)[i, j] -> a[i] @ b[:, j]``, also along leading dimensions."""

    before = ("matmul",)

    def match(self, op: Any) -> Any:
        inner = super().match(op)
        if isinstance(inner, ir.OpView) and any(len(shape_of(v)) < 2 for v in operands_of(inner)):
            return refuse("a factor is a vector")
        return inner

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        lhs, rhs = operands_of(inner)
        *batch, rows, columns = ranges
        left = sliced_broadcast(lhs, [*batch, rows, range(shape_of(lhs)[-1])])
        right = sliced_broadcast(rhs, [*batch, range(shape_of(rhs)[-2]), columns])
        return build("matmul", left, right)


class BeforeConvolution(Early):
    """``conv(x, w)[r] -> conv(x[r'], w)``: elements that are not wanted are neither padded nor computed, as at the ends
    of causal convolutions, and steps of the slice are strides."""

    before = ("conv",)

    def match(self, op: Any) -> Any:
        inner = super().match(op)
        if not isinstance(inner, ir.OpView):
            return inner
        _, channels, *spatial = ranges_of(op)
        whole = channels == range(shape_of(operands_of(op)[0])[1])
        if not whole and inner.operation.attributes["group"].value != 1:
            return refuse("the channels are in groups")
        if any(taken.step < 0 for taken in spatial):
            return refuse("the slice is reversed")
        if not all(taken for taken, _, _ in self._windows(inner, spatial)):
            return refuse("it takes padding only")
        return inner

    @staticmethod
    def _windows(inner: Any, spatial: Ranges) -> list[tuple[range, int, int]]:
        """For every spatial dimension the elements that are read, and how many are padded below and above them."""
        extents, kernels = (shape_of(value)[2:] for value in operands_of(inner)[:2])
        strides, dilations, low = (ints(inner, name) for name in ("strides", "dilations", "pads"))
        found = []
        for i, taken in enumerate(spatial):
            first = taken[0] * strides[i] - low[i]
            last = taken[-1] * strides[i] - low[i] + (kernels[i] - 1) * dilations[i]
            read = range(max(first, 0), min(last + 1, extents[i]))
            found.append((read, max(-first, 0), max(last + 1 - extents[i], 0)))
        return found

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        data, weight, *bias = operands_of(inner)
        batch, channels, *spatial = ranges
        windows = self._windows(inner, spatial)
        attributes = {name: list(ints(inner, name)) for name in ("strides", "dilations")}
        attributes["strides"] = [a * taken.step for a, taken in zip(attributes["strides"], spatial, strict=True)]
        attributes["pads"] = [low for _, low, _ in windows] + [high for _, _, high in windows]
        data = sliced(data, [batch, range(shape_of(data)[1]), *(read for read, _, _ in windows)])
        weight = sliced(weight, [channels, *(range(extent) for extent in shape_of(weight)[1:])])
        operands = [data, weight, *(sliced(value, [channels]) for value in bias)]
        return build("conv", *operands, group=inner.operation.attributes["group"], **attributes)


class BeforeConcat(Early):
    """``concat(x, y)[r] -> x[r]``, ``y[r']``, or the concatenation of both parts."""

    before = ("concat",)

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "concat")
        if inner is None or not size_of(result_of(op)):
            return None
        axis = inner.operation.attributes["axis"].value
        border, taken = shape_of(operands_of(inner)[0])[axis], ranges_of(op)[axis]
        if max(taken) < border or min(taken) >= border:
            return inner
        if taken.step != 1:
            return refuse("a strided range crosses the border of the parts")
        return super().match(op)

    def moved(self, inner: Any, ranges: Ranges) -> ir.Value:
        axis = inner.operation.attributes["axis"].value
        lhs, rhs = operands_of(inner)
        border, taken = shape_of(lhs)[axis], ranges[axis]

        def part(value: ir.Value, r: range) -> ir.Value:
            return sliced(value, [r if i == axis else other for i, other in enumerate(ranges)])

        if max(taken) < border:
            return part(lhs, taken)
        if min(taken) >= border:
            return part(rhs, range(taken.start - border, taken.stop - border, taken.step))
        return build("concat", part(lhs, range(taken[0], border)), part(rhs, range(taken[-1] + 1 - border)), axis=axis)


class GatherBeforeUnary(Pattern):
    """``gather(f(x), i) -> f(gather(x, i))`` where that is smaller."""

    root = "graph.gather"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], *UNARY)
        if inner is None:
            return None
        if size_of(result_of(op)) >= size_of(operands_of(op)[0]):
            return refuse("the gather does not make the tensor smaller")
        return inner if has_one_use(operands_of(op)[0]) else refuse(_OTHER_USES)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        part = rebuilt(op, operands_of(match)[0], operands_of(op)[1])
        rewriter.replace_op(op, [rebuilt_elementwise(match, part)])


class GatherBeforeMatMul(Pattern):
    """``gather(a @ b, i) -> gather(a, i) @ b`` for rows of matrices, where that is smaller."""

    root = "graph.gather"

    def match(self, op: Any) -> Any:
        product, indices = operands_of(op)
        inner = producer(product, "matmul")
        axis = op.operation.attributes["axis"].value
        if inner is None or axis != 0 or any(len(shape_of(v)) != 2 for v in operands_of(inner)):
            return None
        if len(shape_of(indices)) != 1 or size_of(result_of(op)) >= size_of(product):
            return refuse("the gather does not make the tensor smaller, or changes its rank")
        return inner if has_one_use(product) else refuse(_OTHER_USES)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = operands_of(match)
        rewriter.replace_op(op, [build("matmul", rebuilt(op, lhs, operands_of(op)[1]), rhs)])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [
        BeforeElementwise(),
        BeforeBroadcast(),
        BeforeReduction(),
        BeforeMatMul(),
        BeforeConvolution(),
        BeforeConcat(),
        GatherBeforeUnary(),
        GatherBeforeMatMul(),
    ]
