"""What an operation needs of its operands for a part of its result.

Parts are boxes: (start, size) in every dimension. One description serves to find out what a tile costs and to write it.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.reading import dims_in, extents_of, is_tensor, linear_form, maps_of, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import has_constant_padding, padding_low
from mnc.lowering.linalg_to_spmd.slices import Ranges, range_of

Needs = list[Ranges]
"""A part of each tensor operand."""


def whole(value: Any) -> Ranges:
    """All of a tensor."""
    return tuple((0, extent) for extent in shape_of(value))


def needs(op: Any, ranges: Ranges) -> Needs | None:
    """The parts of the operands from which `ranges` of the result follow, () for scalars; None if that cannot be said
    in boxes."""
    handler = _HANDLERS.get(op.name)
    return handler(op, ranges) if handler is not None else None


def _generic(op: Any, ranges: Ranges) -> Needs | None:
    if any(inner.operation.name == "linalg.index" for inner in op.regions[0].blocks[0].operations):
        return None
    maps = maps_of(op)
    iteration = iteration_ranges(op, ranges)
    if iteration is None:
        return None
    extents = extents_of(op, maps, list(op.operands), maps[0].n_dims)
    found: Needs = []
    for map_, value in zip(maps, op.operands, strict=True):
        box = []
        if not is_tensor(value):
            found.append(())
            continue
        for expression, extent in zip(map_.results, shape_of(value), strict=True):
            form = linear_form(expression)
            if form is None or form[1] != 0 or any(factor < 1 for factor in form[0].values()):
                return None
            if all(iteration[d] == (0, extents[d]) for d in form[0]):
                box.append((0, extent))  # strides may leave out the end, but a whole tensor needs no cutting
                continue
            start = sum(factor * iteration[d][0] for d, factor in form[0].items())
            size = 1 + sum(factor * (iteration[d][1] - 1) for d, factor in form[0].items())
            box.append((start, min(size, extent - start)))
        found.append(tuple(box))
    return found


def iteration_ranges(op: Any, ranges: Ranges) -> list[tuple[int, int]] | None:
    """The part of the iteration space that computes `ranges` of the result; reductions run over all of theirs."""
    maps, values = maps_of(op), list(op.operands)
    extents = extents_of(op, maps, values, maps[0].n_dims)
    iteration = [(0, extent) for extent in extents]
    for expression, own in zip(maps[-1].results, ranges, strict=True):
        if isinstance(expression, ir.AffineDimExpr):
            iteration[expression.position] = own
        elif dims_in(expression):
            return None
    return iteration


def _pad(op: Any, ranges: Ranges) -> Needs | None:
    if not has_constant_padding(op):
        return None
    box = []
    for (start, size), low, extent in zip(ranges, padding_low(op), shape_of(op.operands[0]), strict=True):
        first, end = max(0, start - low), min(extent, start + size - low)
        if first >= end or low < 0:
            return None
        box.append((first, end - first))
    return [tuple(box)]


def _groups(op: Any) -> list[list[int]]:
    groups = ir.ArrayAttr(op.attributes["reassociation"])
    return [[ir.IntegerAttr(d).value for d in ir.ArrayAttr(group)] for group in groups]


def _collapse(op: Any, ranges: Ranges) -> Needs | None:
    shape, box = shape_of(op.operands[0]), []
    if not ranges:  # a scalar is made of no dimensions, so there are no groups
        return [whole(op.operands[0])]
    for group, own in zip(_groups(op), ranges, strict=True):
        inner = _outermost([shape[d] for d in group], own)
        if inner is None:
            return None
        box += inner
    return [tuple(box)]


def _outermost(extents: Sequence[int], own: tuple[int, int]) -> list[tuple[int, int]] | None:
    """A range of dimensions taken as one, as a box of them: whole, or cut along the outermost."""
    if own == (0, prod(extents)):
        return [(0, extent) for extent in extents]
    place = next(i for i, extent in enumerate(extents) if extent > 1)
    inside = prod(extents[place + 1 :])
    if own[0] % inside or own[1] % inside:
        return None
    first = (own[0] // inside, own[1] // inside)
    return [*((0, 1) for _ in extents[:place]), first, *((0, extent) for extent in extents[place + 1 :])]


def _expand(op: Any, ranges: Ranges) -> Needs | None:
    shape, box = shape_of(op.results[0]), []
    for group in _groups(op):
        extents, own = [shape[d] for d in group], [ranges[d] for d in group]
        place = next((i for i, extent in enumerate(extents) if extent > 1), 0)
        if any(r != (0, extent) for r, extent in zip(own[place + 1 :], extents[place + 1 :], strict=True)):
            return None
        inside = prod(extents[place + 1 :])
        box.append((own[place][0] * inside, own[place][1] * inside))
    return [tuple(box)]


def _concat(op: Any, ranges: Ranges) -> Needs | None:
    """A part across all pieces: the same part of each."""
    joined = ir.IntegerAttr(op.attributes["dim"]).value
    if ranges[joined] != (0, shape_of(op.results[0])[joined]):
        return None
    return [
        tuple((0, shape_of(piece)[joined]) if d == joined else own for d, own in enumerate(ranges))
        for piece in op.operands
    ]


def _slice(op: Any, ranges: Ranges) -> Needs | None:
    """A part across what is taken: along the dimensions of which a slice leaves nothing out."""
    taken = range_of(op)
    if taken is None:
        return None
    box = []
    for own, (_, size), all_of_it in zip(ranges, taken, whole(op.operands[0]), strict=True):
        if size != all_of_it[1] and own != (0, size):
            return None
        box.append(own if size == all_of_it[1] else all_of_it)
    return [tuple(box)]


_HANDLERS = {
    "tensor.extract_slice": _slice,
    "linalg.generic": _generic,
    "tensor.pad": _pad,
    "tensor.concat": _concat,
    "tensor.collapse_shape": _collapse,
    "tensor.expand_shape": _expand,
}
PARTABLE = tuple(_HANDLERS)
"""Operations of which parts can be asked for."""
