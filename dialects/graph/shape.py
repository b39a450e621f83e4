"""Operations that only move elements: the value of each result element is an operand element or a constant."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.graph import attributes as attr
from mnc.dialects.graph import shapes
from mnc.dialects.graph.base import Attributes, GraphOp, Tensor, TensorResult, TensorType, same_element_type, tensor

PAD_MODES = ("constant", "reflect", "edge", "wrap")


class Constant(GraphOp, name="constant"):
    """The tensor ``value``. Weights also carry the name of their initializer in ``onnx.name``."""

    result: TensorResult
    value: Any

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        value: Any = attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr | ir.DenseResourceElementsAttr):
            raise ValueError(f"attribute 'value' must be dense elements, found {value}")
        return [ir.RankedTensorType(value.type)]


class Transpose(GraphOp, name="transpose"):
    """Dimension i of the result is dimension ``permutation[i]`` of the operand."""

    operand: Tensor
    result: TensorResult
    permutation: Any

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        shape = shapes.transpose(list(operand.shape), attr.int_array(attributes, "permutation"))
        return [tensor(shape, operand.element_type)]


class Reshape(GraphOp, name="reshape"):
    """The same elements in row-major order under the shape of the result."""

    operand: Tensor
    result: TensorResult

    @classmethod
    def check(cls, operands: Sequence[Any], results: Sequence[Any], attributes: Attributes) -> None:
        same_element_type([*operands, *results])
        shapes.reshape(list(operands[0].shape), list(results[0].shape))


class BroadcastTo(GraphOp, name="broadcast_to"):
    """numpy.broadcast_to the shape of the result."""

    operand: Tensor
    result: TensorResult

    @classmethod
    def check(cls, operands: Sequence[Any], results: Sequence[Any], attributes: Attributes) -> None:
        same_element_type([*operands, *results])
        shapes.broadcast_to(list(operands[0].shape), list(results[0].shape))


class Concat(GraphOp, name="concat"):
    """``lhs`` and then ``rhs`` along ``axis``; longer concatenations are trees of these.

    It has two operands because the native verifier wants all operands of a variadic group to be of
    one type.
    """

    lhs: Tensor
    rhs: Tensor
    result: TensorResult
    axis: ir.IntegerAttr

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        shape = shapes.concat([list(type_.shape) for type_ in operands], attr.integer(attributes, "axis"))
        return [tensor(shape, kind)]


def concat_tree(values: Sequence[Any], axis: int) -> Any:
    """Balanced tree of two-operand concatenations, so that no element is moved more than log2(n) times."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    lhs, rhs = concat_tree(values[:half], axis), concat_tree(values[half:], axis)
    return Concat.build(lhs, rhs, axis=axis).result


class Slice(GraphOp, name="slice"):
    """``operand[starts[0]:limits[0]:steps[0], ...]`` with one triple per dimension.

    Normalised: 0 <= start <= limit <= extent for a positive step, -1 <= limit <= start < extent
    for a negative one, where limit -1 means down to and including element 0.
    """

    operand: Tensor
    result: TensorResult
    starts: Any
    limits: Any
    steps: Any

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        ranges = [attr.int_array(attributes, name) for name in ("starts", "limits", "steps")]
        return [tensor(shapes.slice_(list(operand.shape), *ranges), operand.element_type)]


class Pad(GraphOp, name="pad"):
    """Add ``low[i]`` and ``high[i]`` elements around dimension i.

    They are ``value`` (f32, or f64 for large integers; converted to the element type) in mode constant; mirrored
    without repeating the border in mode reflect; copies of the border in mode edge; from the other end in mode wrap.
    """

    operand: Tensor
    result: TensorResult
    low: Any
    high: Any
    value: ir.FloatAttr
    mode: ir.StringAttr

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        low, high = attr.int_array(attributes, "low"), attr.int_array(attributes, "high")
        attr.real(attributes, "value")
        mode = attr.string(attributes, "mode", PAD_MODES)
        if not len(low) == len(high) == operand.rank or min((*low, *high), default=0) < 0:
            raise ValueError(f"needs {operand.rank} low and high paddings that are not negative")
        for extent, before, after in zip(operand.shape, low, high, strict=True):
            if mode == "reflect" and max(before, after) >= max(extent, 1):
                raise ValueError(f"cannot reflect {max(before, after)} elements of extent {extent}")
            if mode != "constant" and extent == 0 and before + after:
                raise ValueError(f"cannot pad an empty dimension in mode {mode}")
        shape = [a + extent + b for extent, a, b in zip(operand.shape, low, high, strict=True)]
        return [tensor(shape, operand.element_type)]


class Gather(GraphOp, name="gather"):
    """numpy.take(operand, indices, axis); negative indices count from the end."""

    operand: Tensor
    indices: Tensor
    result: TensorResult
    axis: ir.IntegerAttr

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        operand, indices = operands
        axis = shapes.axis_in(attr.integer(attributes, "axis"), operand.rank)
        if str(indices.element_type) not in ("i32", "i64"):
            raise ValueError(f"indices must be i32 or i64, found {indices.element_type}")
        shape = list(operand.shape)
        return [tensor((*shape[:axis], *indices.shape, *shape[axis + 1 :]), operand.element_type)]


class BatchGather(GraphOp, name="batch_gather"):
    """``gather``, where each of the first ``batch_dims`` indices of the operand has indices of its own: with one of
    them, ``result[n] = gather(operand[n], indices[n], axis - 1)``."""

    operand: Tensor
    indices: Tensor
    result: TensorResult
    axis: ir.IntegerAttr
    batch_dims: ir.IntegerAttr

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        operand, indices = operands
        axis = shapes.axis_in(attr.integer(attributes, "axis"), operand.rank)
        batch = attr.integer(attributes, "batch_dims")
        if str(indices.element_type) not in ("i32", "i64"):
            raise ValueError(f"indices must be i32 or i64, found {indices.element_type}")
        if not 0 <= batch <= axis or list(operand.shape)[:batch] != list(indices.shape)[:batch]:
            raise ValueError(f"operand and indices do not have the same first {batch} extents, in front of the axis")
        shape = list(operand.shape)
        return [tensor((*shape[:axis], *list(indices.shape)[batch:], *shape[axis + 1 :]), operand.element_type)]
