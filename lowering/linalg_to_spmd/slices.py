"""Slices of tensors, and tensors joined from slices."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mnc.core.bindings import arith, ir, tensor
from mnc.lowering.linalg_to_spmd.reading import shape_of, splat_value

Ranges = tuple[tuple[int, int], ...]
"""(start, size) in every dimension."""


def equal_cuts(shape: tuple[int, ...], most: int) -> Iterator[list[Ranges]]:
    """Boxes of equal parts along each dimension, of at most so many parts."""
    for dim, extent in enumerate(shape):
        for count in range(2, min(extent, most) + 1):
            if extent % count == 0:
                size = extent // count
                starts = range(0, extent, size)
                yield [tuple((s, size) if d == dim else (0, e) for d, e in enumerate(shape)) for s in starts]


def slice_of(value: Any, ranges: Sequence[tuple[int, int]]) -> Any:
    """A part of a tensor: the tensor itself where that is all of it, a smaller splat of a splat."""
    sizes = [size for _, size in ranges]
    if tuple(sizes) == shape_of(value):
        return value
    type_ = ir.RankedTensorType.get(sizes, ir.RankedTensorType(value.type).element_type)
    splat = splat_value(value)
    if splat is not None:
        return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, splat)).result
    offsets = [start for start, _ in ranges]
    return tensor.ExtractSliceOp(type_, value, [], [], [], offsets, sizes, [1] * len(sizes)).result


def range_of(op: Any) -> Ranges | None:
    """The part of a tensor that an operation takes, if it is a slice without strides that keeps all dimensions, known
    when it is compiled."""
    if op.name != "tensor.extract_slice" or len(op.operands) > 1:
        return None
    lists = (op.attributes[f"static_{name}"] for name in ("offsets", "sizes", "strides"))
    offsets, sizes, strides = (tuple(ir.DenseI64ArrayAttr(own)) for own in lists)
    if any(stride != 1 for stride in strides) or shape_of(op.results[0]) != sizes:
        return None
    return tuple(zip(offsets, sizes, strict=True))


def joined(type_: Any, parts: Mapping[Ranges, Any]) -> Any:
    """The tensor that consists of `parts`, which lie in a grid."""
    return _join(type_.element_type, dict(parts), 0)


def _join(element: Any, parts: dict[Ranges, Any], dim: int) -> Any:
    if len(parts) == 1:
        return next(iter(parts.values()))
    rows: dict[tuple[int, int], dict[Ranges, Any]] = {}
    for ranges, value in parts.items():
        rows.setdefault(ranges[dim], {})[ranges] = value
    made = [_join(element, own, dim + 1) for _, own in sorted(rows.items())]
    if len(made) == 1:
        return made[0]
    shape = list(shape_of(made[0]))
    shape[dim] = sum(shape_of(value)[dim] for value in made)
    return tensor.ConcatOp(ir.RankedTensorType.get(shape, element), dim, made).result
