"""Writing an operation anew so that it makes a part of its result, as `demand` says what it needs for that."""

from typing import Any

from mnc.core.bindings import ir, tensor
from mnc.lowering.linalg_to_spmd.reading import shape_of, splat_value
from mnc.lowering.linalg_to_spmd.rearranging import padding_low
from mnc.lowering.linalg_to_spmd.slices import Ranges, range_of, slice_of


def write_part(op: Any, operands: list[Any], box: Ranges) -> Any:
    """The part `box` of the result of `op`, made of the parts of its operands that `demand.needs` asks for, at the
    insertion point."""
    return _WRITERS.get(op.name, _clone)(op, operands, box)


def part_of(value: Any, box: Ranges) -> Any:
    """A part of a tensor that is made as a whole; of one without contents a smaller one without contents."""
    if not isinstance(value.owner, ir.Block) and value.owner.name in ("tensor.empty", "linalg.fill"):
        element = ir.RankedTensorType(value.type).element_type
        if splat_value(value) is None:
            return tensor.EmptyOp([size for _, size in box], element).result
    return slice_of(value, box)


def _clone(op: Any, operands: list[Any], box: Ranges) -> Any:
    made = op.clone()
    for number, operand in enumerate(operands):
        made.operands[number] = operand
    element = ir.RankedTensorType(op.results[0].type).element_type
    made.results[0].set_type(ir.RankedTensorType.get([size for _, size in box], element))
    return made.results[0]


def _pad(op: Any, operands: list[Any], box: Ranges) -> Any:
    lows = [max(0, low - start) for low, (start, _) in zip(padding_low(op), box, strict=True)]
    sizes = shape_of(operands[0])
    highs = [size - low - own for low, own, (_, size) in zip(lows, sizes, box, strict=True)]
    made = _clone(op, operands, box).owner
    made.attributes["static_low"] = ir.DenseI64ArrayAttr.get(lows)
    made.attributes["static_high"] = ir.DenseI64ArrayAttr.get(highs)
    return made.results[0]


def _reshape(op: Any, operands: list[Any], box: Ranges) -> Any:
    made = _clone(op, operands, box).owner
    if "static_output_shape" in op.attributes:
        made.attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get([size for _, size in box])
    return made.results[0]


def _slice(op: Any, operands: list[Any], box: Ranges) -> Any:
    taken = range_of(op)
    assert taken is not None  # `needs` has asked
    own = shape_of(op.operands[0])
    ranges = [(0, size) if n == all_of_it else (start, n)
              for (start, n), (_, size), all_of_it in zip(taken, box, own, strict=True)]  # fmt: skip
    return slice_of(operands[0], ranges)


_WRITERS = {
    "tensor.pad": _pad,
    "tensor.expand_shape": _reshape,
    "tensor.collapse_shape": _reshape,
    "tensor.extract_slice": _slice,
}
