"""Layout and data movement -> tensor.expand_shape, collapse_shape, extract_slice, pad, concat, copying generics."""

from collections.abc import Sequence

import numpy as np

from mnc.core.bindings import arith, ir, linalg, tensor
from mnc.dialects.graph.attributes import to_numpy
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.emit import (
    constant,
    element_of,
    empty,
    generic,
    pointwise,
    scalar,
    shape_of,
    signless,
    tensor_type,
)
from mnc.lowering.graph_to_linalg.reassociation import common_groups
from mnc.lowering.graph_to_linalg.source import Handler, Source


def _reassociation(groups: Sequence[Sequence[int]]) -> ir.ArrayAttr:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, i) for i in group]) for group in groups])


def _collapse(value: ir.Value, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> ir.Value:
    return tensor.CollapseShapeOp(tensor_type(shape, element_of(value)), value, _reassociation(groups)).result


def _expand(value: ir.Value, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> ir.Value:
    type_ = tensor_type(shape, element_of(value))
    return tensor.ExpandShapeOp(type_, value, _reassociation(groups), [], list(shape)).result


def reshaped(value: ir.Value, target: Sequence[int]) -> ir.Value:
    """Row-major reshape: nothing, one collapse, one expand, or a collapse followed by an expand."""
    shape, target = list(shape_of(value)), list(target)
    if shape == target:
        return value
    if 0 in shape:
        return empty(target, element_of(value))
    groups = common_groups(shape, target)
    middle = [int(np.prod([shape[i] for i in before], dtype=np.int64)) for before, _ in groups]
    if any(len(before) != 1 for before, _ in groups) or len(groups) != len(shape):
        value = _collapse(value, [before for before, _ in groups], middle)
    if middle != target or len(groups) != len(target):
        value = _expand(value, [after for _, after in groups], target)
    return value


def sliced(
    value: ir.Value, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None
) -> ir.Value:
    """`tensor.extract_slice` with positive steps; the value itself if it is taken whole."""
    steps = [1] * len(starts) if steps is None else list(steps)
    if list(sizes) == list(shape_of(value)):
        return value
    type_ = tensor_type(sizes, element_of(value))
    return tensor.ExtractSliceOp(type_, value, [], [], [], list(starts), list(sizes), steps).result


def reversed_along(value: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Copying generic that reads `axes` backwards: the map has ``extent - 1 - d``."""
    shape = shape_of(value)
    if not axes:
        return value
    reads = [
        ir.AffineExpr.get_constant(extent - 1) - ir.AffineExpr.get_dim(i) if i in axes and extent > 1 else i
        for i, extent in enumerate(shape)
    ]
    identity = list(range(len(shape)))
    return generic([value], [reads, identity], [empty(shape, element_of(value))], "p" * len(shape), lambda a, _: a)


def padded(value: ir.Value, low: Sequence[int], high: Sequence[int], fill: float) -> ir.Value:
    """`tensor.pad` with a constant; the value itself when there is nothing to add."""
    if not any((*low, *high)):
        return value
    element = element_of(value)
    shape = [a + extent + b for extent, a, b in zip(shape_of(value), low, high, strict=True)]
    padding = scalar(fill, element)
    op = tensor.PadOp(tensor_type(shape, element), value, [], [], list(low), list(high))
    location = op.location
    index = ir.IndexType.get()
    block = op.regions[0].blocks.append(*[index] * len(shape), arg_locs=[location] * len(shape))
    with ir.InsertionPoint(block):
        tensor.YieldOp(padding)
    return op.result


def concatenated(values: Sequence[ir.Value], axis: int) -> ir.Value:
    """`tensor.concat` of the values that are not empty."""
    values = [value for value in values if shape_of(value)[axis]] or list(values[:1])
    if len(values) == 1:
        return values[0]
    shape = list(shape_of(values[0]))
    shape[axis] = sum(shape_of(value)[axis] for value in values)
    return tensor.ConcatOp(tensor_type(shape, element_of(values[0])), axis, list(values)).result


def lower_constant(source: Source) -> ir.Value:
    """`arith.constant` of the same elements attribute; unsigned elements change their type."""
    value = source.attributes["value"]
    element = source.result_element()
    if signless(element) != element:
        return constant(to_numpy(value), element)
    return arith.ConstantOp(tensor_type(source.result_shape(), element), value).result


def lower_reshape(source: Source, operand: ir.Value) -> ir.Value:
    """See `reshaped`."""
    return reshaped(operand, source.result_shape())


def lower_concat(source: Source, *operands: ir.Value) -> ir.Value:
    """See `concatenated`; a chain along one axis becomes one operation, as far as nobody reads what is joined before.

    What others read stands together anyway: in a dense block, where every layer reads the results of all layers before
    it, only the newest result has to be brought to it.
    """
    axis = source.int("axis")
    parts = [part for number, operand in enumerate(operands) for part in _parts(source, number, operand)]
    return concatenated(parts, axis)


def _parts(source: Source, number: int, operand: ir.Value) -> list[ir.Value]:
    """What an operand joins along the same axis, if concatenations along it are all that reads it."""
    owner, axis = operand.owner, source.int("axis")
    if isinstance(owner, ir.Block) or owner.name != "tensor.concat" or owner.attributes["dim"].value != axis:
        return [operand]
    readers = [use.owner for use in source.op.operands[number].uses]
    if any(reader.name != source.op.name or reader.attributes["axis"].value != axis for reader in readers):
        return [operand]
    return list(owner.operands)


def lower_slice(source: Source, operand: ir.Value) -> ir.Value:
    """`tensor.extract_slice`; for negative steps of what is visited, then reversed."""
    starts, steps, sizes = source.ints("starts"), source.ints("steps"), source.result_shape()
    if 0 in sizes:
        return empty(sizes, source.result_element())
    lowest = [a if step > 0 else a + step * (size - 1) for a, step, size in zip(starts, steps, sizes, strict=True)]
    part = sliced(
        operand, lowest, sizes, [abs(step) if size > 1 else 1 for step, size in zip(steps, sizes, strict=True)]
    )
    return reversed_along(part, [i for i, step in enumerate(steps) if step < 0])


def _range(value: ir.Value, axis: int, start: int, size: int) -> ir.Value:
    sizes = list(shape_of(value))
    sizes[axis] = size
    return sliced(value, [start if i == axis else 0 for i in range(len(sizes))], sizes)


def _pad_along(value: ir.Value, axis: int, low: int, high: int, mode: str) -> ir.Value:
    """Pad one dimension by pieces of the value itself."""
    shape = list(shape_of(value))
    extent = shape[axis]
    if mode == "edge":
        ends = []
        for start, count in ((0, low), (extent - 1, high)):
            shape[axis] = count
            ends.append(pointwise([_range(value, axis, start, 1)], shape, element_of(value), lambda a: a))
        return concatenated([ends[0], value, ends[1]], axis)
    if mode == "reflect":
        before = reversed_along(_range(value, axis, 1, low), [axis]) if low else None
        after = reversed_along(_range(value, axis, extent - 1 - high, high), [axis]) if high else None
        return concatenated([piece for piece in (before, value, after) if piece is not None], axis)
    pieces = [_range(value, axis, extent - low % extent, low % extent)] if low % extent else []
    pieces += [value] * (low // extent + 1 + high // extent)
    pieces += [_range(value, axis, 0, high % extent)] if high % extent else []
    return concatenated(pieces, axis)


def lower_pad(source: Source, operand: ir.Value) -> ir.Value:
    """`tensor.pad` for a constant; slices and reversals put together for the other modes."""
    low, high, mode = source.ints("low"), source.ints("high"), source.text("mode")
    if mode == "constant":
        return padded(operand, low, high, source.real("value"))
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        if before or after:
            operand = _pad_along(operand, axis, before, after, mode)
    return operand


def lower_gather(source: Source, operand: ir.Value, indices: ir.Value, batch: int = 0) -> ir.Value:
    """Copying generic over the result that reads `operand` by `tensor.extract`."""
    axis, shape, rank = source.int("axis"), source.result_shape(), len(source.shape(1)) - batch
    extent = source.shape(0)[axis]
    integer = element_of(indices)

    def body(raw: ir.Value, _: ir.Value) -> ir.Value:
        wrapped = s.add(raw, scalar(extent, integer), integer)
        index = s.select(s.compare("lt", raw, scalar(0, integer), integer), wrapped, raw)
        place = [linalg.IndexOp(i).result for i in range(len(shape))]
        place[axis : axis + rank] = [arith.IndexCastOp(ir.IndexType.get(), index).result]
        # Not the builder: it would keep the unsigned type that arguments have until the end of this lowering.
        result = [element_of(operand)]
        return ir.Operation.create("tensor.extract", results=result, operands=[operand, *place]).results[0]

    maps = [[*range(batch), *range(axis, axis + rank)], list(range(len(shape)))]
    return generic([indices], maps, [empty(shape, source.result_element())], "p" * len(shape), body)


def lower_batch_gather(source: Source, operand: ir.Value, indices: ir.Value) -> ir.Value:
    """The same, with indices that depend on the first dimensions, too."""
    return lower_gather(source, operand, indices, source.int("batch_dims"))


HANDLERS: dict[str, Handler] = {
    "graph.constant": lower_constant,
    "graph.reshape": lower_reshape,
    "graph.concat": lower_concat,
    "graph.slice": lower_slice,
    "graph.pad": lower_pad,
    "graph.gather": lower_gather,
    "graph.batch_gather": lower_batch_gather,
}
