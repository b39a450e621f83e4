"""The pass `fold-batch-norm`."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.core.rewrite import Pattern, apply_greedily, attributes_of, location_of_all, refuse
from mnc.dialects import graph
from mnc.passes.graph.algebra.common import representable
from mnc.passes.graph.algebra.scaling import name_after_weight_of
from mnc.passes.graph.matching import constant, constant_of, has_one_use, producer, shape_of

_PRODUCERS = ("conv", "conv_transpose", "gemm", "matmul")


def _channel_axis(producer_op: Any) -> int | None:
    """Dimension of the weight that becomes dimension 1 of the result; None where there is none."""
    kind = producer_op.operation.name.removeprefix("graph.")
    attributes = producer_op.operation.attributes
    if kind == "conv":
        return 0
    if kind == "conv_transpose":
        return 1 if attributes["group"].value == 1 else None
    if kind == "gemm":
        return 0 if attributes["transB"].value else 1
    both_matrices = all(len(shape_of(operand)) == 2 for operand in producer_op.operation.operands)
    return 1 if both_matrices else None


class FoldBatchNorm(Pattern):
    """``batch_norm(conv(x, w, b)) -> conv(x, w * factor, b * factor + offset)``."""

    root = "graph.batch_norm"

    def match(self, op: Any) -> Any:
        data, *parameters = op.operation.operands
        inner = producer(data, *_PRODUCERS)
        if inner is None:
            return refuse("its operand is not the result of a contraction")
        values = [*parameters, *list(inner.operation.operands)[1:]]
        arrays = [array for array in map(constant_of, values) if array is not None]
        if len(arrays) < len(values):
            return refuse("a parameter or a weight is not constant")
        if not has_one_use(data):
            return refuse("the contraction has other uses")
        axis = _channel_axis(inner)
        if axis is None:
            return refuse("the channels are not one dimension of the weight")
        return self._folded(op, inner, axis, [array.astype(np.float64) for array in arrays])

    @staticmethod
    def _folded(op: Any, inner: Any, axis: int, arrays: list[np.ndarray]) -> Any:
        scale, bias, mean, variance, weight, *own_bias = arrays
        with np.errstate(all="ignore"):
            factor = scale / np.sqrt(variance + op.operation.attributes["epsilon"].value)
            offset = bias - mean * factor
            folded = weight * factor.reshape([-1 if i == axis else 1 for i in range(weight.ndim)])
            if own_bias:
                beta = attributes_of(inner).get("beta")
                offset = own_bias[0] * (1 if beta is None else ir.FloatAttr(beta).value) * factor + offset
        like = op.operation.operands[0]
        if not (representable(folded, like) and np.all(np.isfinite(offset))):
            return refuse("a folded weight overflows or underflows")
        return inner, folded, offset

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        inner, folded, offset = match
        data, weight = list(inner.operation.operands)[:2]
        made, bias = constant(folded, like=weight), constant(offset, like=weight)
        name_after_weight_of(weight, made, "batch_norm")
        attributes = attributes_of(inner)
        kind = graph.OPERATIONS[inner.operation.name]
        if "beta" in attributes:
            attributes["beta"] = ir.FloatAttr.get_f32(1.0)
        with location_of_all(inner, op):
            if kind is graph.MatMul:
                result = graph.Add.build(graph.MatMul.build(data, made), bias)
            else:
                result = kind.build(data, made, bias, **attributes)
        rewriter.replace_op(op, [result.operation.results[0]])


@dataclass(frozen=True)
class FoldBatchNormalization(Pass):
    """Fold batch_norm with constant parameters into the contraction before it.

    before: ``%2 = graph.batch_norm(graph.conv(%x, %w), ...)``; after: ``%2 = graph.conv(%x, %w', %b')``

    The new weights are computed in double precision and rounded once.
    """

    name: ClassVar[str] = "fold-batch-norm"

    def run(self, module: ir.Module) -> None:
        """Fold everywhere; refusals are explained."""
        apply_greedily(module, [FoldBatchNorm()])
