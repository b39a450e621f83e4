"""Operations that fold one or more dimensions."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.graph import attributes as attr
from mnc.dialects.graph import shapes
from mnc.dialects.graph.base import Attributes, GraphOp, Tensor, TensorResult, TensorType, is_bool, is_float, tensor

REDUCE_KINDS = ("sum", "max", "min", "mean", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square")
POOL_KINDS = ("max", "average", "lp")


class Reduce(GraphOp, name="reduce"):
    """Fold the dimensions ``axes`` by ``kind``; they stay with extent 1 if ``keepdims``, else vanish.

    l1: sum of absolute values, l2: square root of the sum of squares, log_sum: log of the sum,
    log_sum_exp: log of the sum of exponentials. Axes are normalised, distinct and ascending.
    """

    operand: Tensor
    result: TensorResult
    kind: ir.StringAttr
    axes: Any
    keepdims: Any

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        kind = attr.string(attributes, "kind", REDUCE_KINDS)
        if is_bool(operand.element_type) and kind not in ("max", "min"):
            raise ValueError(f"of kind {kind} does not work on element type i1")
        axes, keepdims = attr.int_array(attributes, "axes"), attr.boolean(attributes, "keepdims")
        return [tensor(shapes.reduce(operand.shape, axes, keepdims), operand.element_type)]


class ArgReduce(GraphOp, name="arg_reduce"):
    """Index (i64) of the largest or smallest element along ``axis``; the last one of equals if ``select_last``."""

    operand: Tensor
    result: TensorResult
    kind: ir.StringAttr
    axis: ir.IntegerAttr
    keepdims: Any
    select_last: Any

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        attr.string(attributes, "kind", ("max", "min"))
        attr.boolean(attributes, "select_last")
        shape = shapes.reduce(operand.shape, [attr.integer(attributes, "axis")], attr.boolean(attributes, "keepdims"))
        return [tensor(shape, ir.IntegerType.get_signless(64, operand.context))]


class CumSum(GraphOp, name="cum_sum"):
    """Running sum along ``axis``; without the element itself if ``exclusive``, from the end if ``reverse``."""

    operand: Tensor
    result: TensorResult
    axis: ir.IntegerAttr
    exclusive: Any
    reverse: Any

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        shapes.axis_in(attr.integer(attributes, "axis"), operand.rank)
        attr.boolean(attributes, "exclusive")
        attr.boolean(attributes, "reverse")
        return [operand]


class Pool(GraphOp, name="pool"):
    """Fold windows of the spatial dimensions of data (N, C, spatial...) by ``kind`` max, average or lp.

    ``pads`` are all the low ones, then all the high ones. An average divides by the window's size,
    or by the number of elements inside the data unless ``count_include_pad``. lp is the ``p``-norm.
    """

    operand: Tensor
    result: TensorResult
    kind: ir.StringAttr
    kernel: Any
    strides: Any
    pads: Any
    dilations: Any
    ceil_mode: Any
    count_include_pad: Any
    optional_attributes = ("p",)

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        if attr.string(attributes, "kind", POOL_KINDS) == "lp":
            attr.integer(attributes, "p")
        if operand.rank < 3:
            raise ValueError(f"needs an operand of rank >= 3, found {operand}")
        attr.boolean(attributes, "count_include_pad")
        windows = [attr.int_array(attributes, name) for name in ("kernel", "strides", "pads", "dilations")]
        shape = list(operand.shape)
        spatial = shapes.window(shape[2:], *windows, ceil_mode=attr.boolean(attributes, "ceil_mode"))
        return [tensor((*shape[:2], *spatial), operand.element_type)]


class SoftmaxOp(GraphOp):
    """Normalise along one dimension; demands floats and a normalised axis."""

    operand: Tensor
    result: TensorResult
    axis: ir.IntegerAttr

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        if not is_float(operand.element_type):
            raise ValueError(f"does not work on element type {operand.element_type}")
        shapes.axis_in(attr.integer(attributes, "axis"), operand.rank)
        return [operand]


class Softmax(SoftmaxOp, name="softmax"):
    """``e**x / sum of e**x`` along ``axis``."""


class LogSoftmax(SoftmaxOp, name="log_softmax"):
    """``x - log(sum of e**x)`` along ``axis``."""
