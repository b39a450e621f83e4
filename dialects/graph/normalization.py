"""Composite normalisations; decomposed into reductions and element-wise work by a pass."""

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
    is_float,
    same_element_type,
    tensor,
)


class LayerNorm(GraphOp, name="layer_norm"):
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias`` over the dimensions from ``axis`` on.

    Results: the normalised tensor, the mean and 1 / sqrt(variance + epsilon), both with the
    normalised dimensions kept as 1. Scale and the optional bias broadcast to those dimensions.
    """

    data: Tensor
    scale: Tensor
    result: TensorResult
    mean: TensorResult
    inverse_deviation: TensorResult
    axis: ir.IntegerAttr
    epsilon: ir.FloatAttr
    bias: Optional[Tensor] = None  # noqa: UP045

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        shape = list(operands[0].shape)
        axis = shapes.axis_in(attr.integer(attributes, "axis"), len(shape))
        attr.real(attributes, "epsilon")
        if not is_float(kind):
            raise ValueError(f"does not work on element type {kind}")
        for parameter in operands[1:]:
            shapes.broadcast_to(list(parameter.shape), shape[axis:])
        statistics = tensor([*shape[:axis], *[1] * (len(shape) - axis)], kind)
        return [operands[0], statistics, statistics]


class BatchNorm(GraphOp, name="batch_norm"):
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias`` per channel, dimension 1 (inference)."""

    data: Tensor
    scale: Tensor
    bias: Tensor
    mean: Tensor
    variance: Tensor
    result: TensorResult
    epsilon: ir.FloatAttr

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        attr.real(attributes, "epsilon")
        if operands[0].rank < 2 or not is_float(kind):
            raise ValueError(f"needs float data of rank >= 2, found {operands[0]}")
        channels = operands[0].shape[1]
        for parameter in operands[1:]:
            if list(parameter.shape) != [channels]:
                raise ValueError(f"parameters must have shape {channels}, found {shapes.text(parameter.shape)}")
        return [operands[0]]
