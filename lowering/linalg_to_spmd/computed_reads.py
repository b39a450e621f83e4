"""Reads of `tensor.extract` at computed indices, as operands that hold what is read at every point."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import arith, ir, linalg, tensor
from mnc.core.context import error_at
from mnc.lowering.linalg_to_spmd.reading import dims_in, is_tensor, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import evaluate
from mnc.lowering.linalg_to_spmd.rewriting import (
    Building,
    body_operations,
    copy_operation,
    defining,
    dims_map,
    index_type,
    iota,
    make_generic,
    substituted,
)
from mnc.lowering.linalg_to_spmd.static_indices import constant_array, evaluate_scalar

CHOSEN = "mncore.chosen"
"""Marks a generic that sums, over this many reduced dimensions, the elements of its first operand (the table) under the
condition that the following operands (the indices) equal the numbers of the dimensions."""


def _loop_dims(source: Building, extract: Any) -> dict[int, int]:
    """Dimensions of the table of an extract that run along an iteration dimension."""
    table, *wanted = extract.operands
    fixed: dict[int, int] = {}
    for position, (value, extent) in enumerate(zip(wanted, shape_of(table), strict=True)):
        index = defining(value, "linalg.index")
        if index is not None and source.extents[ir.IntegerAttr(index.attributes["dim"]).value] == extent:
            fixed[position] = ir.IntegerAttr(index.attributes["dim"]).value
    return fixed


def static_read(source: Building, extract: Any) -> tuple[Any, list[int]] | None:
    """A `tensor.gather` for an extract with one index that is known when compiling, and the dimensions of its result;
    None for others."""
    table, *wanted = extract.operands
    fixed = _loop_dims(source, extract)
    chosen = [position for position in range(len(wanted)) if position not in fixed]
    if len(chosen) != 1:
        return None
    value = wanted[chosen[0]]
    order = _needed_dims(source, value)
    found = evaluate_scalar(value, _known_arrays(source, order))
    if found is None or set(order) & set(fixed.values()) or found.min(initial=0) < 0:
        return None
    extents = [source.extents[d] for d in order]
    array = np.ascontiguousarray(np.broadcast_to(found, extents)[..., None], dtype=np.int64)
    if array.max(initial=0) >= shape_of(table)[chosen[0]]:
        return None
    kind = ir.RankedTensorType.get([*extents, 1], index_type())
    indices = arith.ConstantOp(kind, ir.DenseElementsAttr.get(array, type=index_type())).result
    rest = [shape_of(table)[position] for position in sorted(fixed)]
    element = ir.RankedTensorType(table.type).element_type
    made = tensor.GatherOp(ir.RankedTensorType.get([*extents, *rest], element), table, indices, chosen)
    return made.result, [*order, *(fixed[position] for position in sorted(fixed))]


def _known_arrays(source: Building, order: Sequence[int]) -> dict[Any, Any]:
    """Values of loop indices and of constant operands over the iteration dimensions `order`."""
    grid = dict(zip(order, np.indices([source.extents[d] for d in order], dtype=np.int64), strict=True))
    known: dict[Any, Any] = {}
    for op in body_operations(source.op, "linalg.index"):
        d = ir.IntegerAttr(op.attributes["dim"]).value
        if d in grid:
            known[op.results[0]] = grid[d]
    for argument, value, map_ in zip(source.block.arguments, source.inputs, source.maps, strict=False):
        array = constant_array(value) if is_tensor(value) else None
        if array is not None and set().union(*(dims_in(e) for e in map_.results)) <= set(order):
            known[argument] = array[tuple(evaluate(e, grid) for e in map_.results)]
    return known


def write_extract(source: Building, extract: Any, places: dict[int, int]) -> Any:
    """The tensor of what a `tensor.extract` reads at every point of the iteration space."""
    table, *wanted = extract.operands
    shape = shape_of(table)
    count = source.rank
    fixed = _loop_dims(source, extract)
    chosen = [position for position in range(len(shape)) if position not in fixed]
    indices = [_write_index(source, wanted[position], places) for position in chosen]
    rank = count + len(chosen)
    loops = {**fixed, **{position: count + i for i, position in enumerate(chosen)}}
    extents = (*source.extents, *(shape[position] for position in chosen))
    select = Building(source.op, extents, (*([True] * count), *([False] * len(chosen))), [], [])
    select.add(table, [loops[position] for position in range(len(shape))])
    for value, dims in indices:
        select.add(value, dims)
    for i, position in enumerate(chosen):
        select.add(iota(shape[position]), [count + i])
    element = ir.RankedTensorType(table.type).element_type
    zero = arith.ConstantOp(element, _zero(element)).result
    empty = tensor.EmptyOp(list(source.extents), element).result
    init = linalg.fill(zero, outs=[empty])

    def build(arguments: list[Any]) -> list[Any]:
        value = arguments[0]
        for i in range(len(chosen)):
            equal = ir.IntegerAttr.get(index_type(), 0)
            hit = arith.CmpIOp(equal, arguments[1 + i], arguments[1 + len(chosen) + i]).result
            value = arith.SelectOp(hit, value, zero).result
        return [_plus(value, arguments[-1], element)]

    made = make_generic(select, [init], [dims_map(rank, range(count))], build)
    made.operation.attributes[CHOSEN] = ir.IntegerAttr.get(index_type(), len(chosen))
    return made.results[0]


def _zero(element: Any) -> Any:
    return ir.IntegerAttr.get(element, 0) if isinstance(element, ir.IntegerType) else ir.FloatAttr.get(element, 0.0)


def _plus(a: Any, b: Any, element: Any) -> Any:
    if not isinstance(element, ir.IntegerType):
        return arith.AddFOp(a, b).result
    return (arith.OrIOp(a, b) if element.width == 1 else arith.AddIOp(a, b)).result


def _block_of(value: Any) -> Any:
    return value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block


def _depends(value: Any, block: Any) -> tuple[set[int], set[int]]:
    """Numbers of the block arguments and loop dimensions that a value of the body depends on."""
    if isinstance(value.owner, ir.Block):
        return ({list(block.arguments).index(value)}, set()) if value.owner == block else (set(), set())
    if _block_of(value) != block:
        return set(), set()
    if value.owner.name == "linalg.index":
        return set(), {ir.IntegerAttr(value.owner.attributes["dim"]).value}
    arguments: set[int] = set()
    dims: set[int] = set()
    for operand in value.owner.operands:
        own = _depends(operand, block)
        arguments |= own[0]
        dims |= own[1]
    return arguments, dims


def _needed_dims(source: Building, value: Any) -> list[int]:
    """Iteration dimensions that a scalar of the body depends on."""
    arguments, dims = _depends(value, source.block)
    for number in arguments:
        if number < len(source.maps):
            dims |= set().union(*(dims_in(e) for e in source.maps[number].results))
    return sorted(dims)


def _write_index(source: Building, value: Any, places: dict[int, int]) -> tuple[Any, list[int]]:
    """A tensor with the values of an index of an extract, over the dimensions it depends on."""
    block = source.block
    arguments, _ = _depends(value, block)
    order = _needed_dims(source, value)
    dims = set(order)
    new = {d: i for i, d in enumerate(order)}
    small = Building(source.op, tuple(source.extents[d] for d in order), (True,) * len(order), [], [])
    numbers: dict[int, int] = {}
    for number, (operand, map_) in enumerate(zip(source.inputs, source.maps, strict=True)):
        used = number in arguments or any(number == places.get(d) for d in dims)
        if used:
            replaced = [ir.AffineExpr.get_dim(new.get(d, 0)) for d in range(source.rank)]
            small.inputs.append(operand)
            small.maps.append(substituted(map_, replaced, len(order)))
            numbers[number] = len(small.inputs) - 1
    empty = tensor.EmptyOp([source.extents[d] for d in order], index_type()).result

    def build(found: list[Any]) -> list[Any]:
        mapping: dict[Any, Any] = {}
        index = ir.IndexType.get()
        for number, argument in enumerate(block.arguments):
            if number in numbers:
                mapping[argument] = found[numbers[number]]
        for op in body_operations(source.op, "linalg.index"):
            d = ir.IntegerAttr(op.attributes["dim"]).value
            if d in dims and d in places:  # others are dead
                mapping[op.results[0]] = arith.IndexCastOp(index, found[numbers[places[d]]]).result
        _copy_slice(value, block, mapping)
        return [arith.IndexCastOp(index_type(), mapping[value]).result]

    made = make_generic(small, [empty], [dims_map(len(order), range(len(order)))], build, dims=order)
    return made.results[0], order


def _copy_slice(value: Any, block: Any, mapping: dict[Any, Any]) -> None:
    """Copy what a value of the body needs."""
    if value in mapping or isinstance(value.owner, ir.Block) or _block_of(value) != block:
        mapping.setdefault(value, value)
        return
    if value.owner.name == "tensor.extract":
        raise error_at(value.owner, "reads at an index that itself is read at an index")
    for operand in value.owner.operands:
        _copy_slice(operand, block, mapping)
    copy_operation(value.owner, mapping)
