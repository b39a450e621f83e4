"""Operations that multiply and sum over an index: the matrix unit's work."""

from collections.abc import Sequence
from typing import Any, Optional

from mnc.core.bindings import ir
from mnc.dialects.graph import attributes as attr
from mnc.dialects.graph import shapes
from mnc.dialects.graph.base import (
    Attributes,
    GraphOp,
    Tensor,
    TensorResult,
    TensorType,
    is_bool,
    same_element_type,
    tensor,
)

PRECISION = "mnc.precision"
"""Discardable attribute of a contraction: the precision of its products. Without it `assign-layouts` chooses."""


class MatMul(GraphOp, name="matmul"):
    """``result[..., i, j] = sum over k of lhs[..., i, k] * rhs[..., k, j]``, as numpy.matmul.

    Leading dimensions broadcast; a 1-D operand is a row on the left, a column on the right, and
    its added dimension is dropped from the result.
    """

    lhs: Tensor
    rhs: Tensor
    result: TensorResult

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        lhs, rhs = operands
        kind = same_element_type(operands)
        if is_bool(kind):
            raise ValueError("does not work on element type i1")
        return [tensor(shapes.matmul(lhs.shape, rhs.shape), kind)]


class Gemm(GraphOp, name="gemm"):
    """``result = alpha * A' @ B' + beta * c``; A' is A, or its transpose if ``transA``; the same for B.

    A and B are 2-D; the optional c broadcasts to the result.
    """

    a: Tensor
    b: Tensor
    result: TensorResult
    alpha: ir.FloatAttr
    beta: ir.FloatAttr
    transA: Any
    transB: Any
    c: Optional[Tensor] = None  # noqa: UP045 - the dialect builder reads Optional

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        a, b = (list(type_.shape) for type_ in operands[:2])
        if len(a) != 2 or len(b) != 2:
            raise ValueError(f"needs 2-D operands, found {operands[0]} and {operands[1]}")
        attr.real(attributes, "alpha")
        attr.real(attributes, "beta")
        a = a[::-1] if attr.boolean(attributes, "transA") else a
        b = b[::-1] if attr.boolean(attributes, "transB") else b
        shape = shapes.matmul(a, b)
        for c in operands[2:]:
            shapes.broadcast_to(c.shape, shape)
        return [tensor(shape, kind)]


def _check_channels(data: list[int], weight: list[int], group: int, bias: Sequence[Any], out: int) -> None:
    if len(data) < 3 or len(weight) != len(data):
        raise ValueError(f"needs operands of equal rank >= 3, found {shapes.text(data)} and {shapes.text(weight)}")
    if group < 1 or data[1] % group or out % group:
        raise ValueError(f"{group} groups do not divide {data[1]} input and {out} output channels")
    if bias and list(bias[0].shape) != [out]:
        raise ValueError(f"the bias must have shape {out}, found {shapes.text(bias[0].shape)}")


class Conv(GraphOp, name="conv"):
    """Cross-correlation of data (N, C, spatial...) with weight (M, C / group, kernel...), plus bias (M).

    ``pads`` are all the low ones, then all the high ones; the padding value is 0.
    """

    data: Tensor
    weight: Tensor
    result: TensorResult
    strides: Any
    pads: Any
    dilations: Any
    group: ir.IntegerAttr
    bias: Optional[Tensor] = None  # noqa: UP045

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        data, weight = (list(type_.shape) for type_ in operands[:2])
        group = attr.integer(attributes, "group")
        _check_channels(data, weight, group, operands[2:], weight[0])
        if weight[1] * group != data[1]:
            raise ValueError(f"the weight takes {weight[1]} channels in {group} groups, the data has {data[1]}")
        strides, pads, dilations = (attr.int_array(attributes, name) for name in ("strides", "pads", "dilations"))
        spatial = shapes.window(data[2:], weight[2:], strides, pads, dilations)
        return [tensor((data[0], weight[0], *spatial), kind)]


class ConvTranspose(GraphOp, name="conv_transpose"):
    """Transposed convolution of data (N, C, spatial...) with weight (C, M / group, kernel...), plus bias (M).

    The gradient of `Conv` with respect to its data; ``output_padding`` widens the high side.
    """

    data: Tensor
    weight: Tensor
    result: TensorResult
    strides: Any
    pads: Any
    dilations: Any
    output_padding: Any
    group: ir.IntegerAttr
    bias: Optional[Tensor] = None  # noqa: UP045

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        data, weight = (list(type_.shape) for type_ in operands[:2])
        group = attr.integer(attributes, "group")
        _check_channels(data, weight, group, operands[2:], weight[1] * group)
        if weight[0] != data[1]:
            raise ValueError(f"the weight takes {weight[0]} channels, the data has {data[1]}")
        names = ("strides", "pads", "dilations", "output_padding")
        spatial = shapes.transposed_window(data[2:], weight[2:], *(attr.int_array(attributes, name) for name in names))
        return [tensor((data[0], weight[1] * group, *spatial), kind)]
