"""expand-indices: loop indices and data-dependent reads become operands, so that layouts can place them.

before:  linalg.generic ins(%x) { %i = linalg.index 1; ... tensor.extract %t[%i, %j] ... }
after:   linalg.generic ins(%x, %iota, %read) { ... }, where %iota holds 0, 1, 2, ... along dimension 1, and
         %read sums the elements of %t under the condition that their index is the wanted one

A read outside the table gives 0. The sum over a dimension of the table that an index chooses from is exact: all terms
but one are 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import arith, ir, linalg, tensor
from mnc.core.context import error_at
from mnc.core.pass_base import Pass
from mnc.lowering.linalg_to_spmd.reading import dims_in, extents_of, is_tensor, maps_of, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import evaluate
from mnc.lowering.linalg_to_spmd.static_indices import constant_array, evaluate_scalar

ITERATOR = {True: "parallel", False: "reduction"}


def _i64() -> Any:
    return ir.IntegerType.get_signless(64)


def _iota(extent: int) -> Any:
    """The tensor 0, 1, ..., extent - 1."""
    type_ = ir.RankedTensorType.get([extent], _i64())
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get(np.arange(extent, dtype=np.int64), type=_i64())).result


def _map(rank: int, dims: Sequence[int]) -> Any:
    return ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in dims])


def _iterators(parallel: Sequence[bool]) -> Any:
    return ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{ITERATOR[p]}>") for p in parallel])


@dataclass
class _Generic:
    """A generic under construction: its operands, maps and the body to copy."""

    op: Any
    extents: tuple[int, ...]
    parallel: tuple[bool, ...]
    inputs: list[Any]
    maps: list[Any]

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def block(self) -> Any:
        return self.op.regions[0].blocks[0]

    def add(self, value: Any, dims: Sequence[int]) -> int:
        """One more input, read at the given iteration dimensions; returns its number."""
        self.inputs.append(value)
        self.maps.append(_map(self.rank, dims))
        return len(self.inputs) - 1


def _read(op: Any) -> _Generic:
    maps = maps_of(op)
    values = list(op.operands)
    count = len(values) - len(op.results)
    parallel = tuple("parallel" in str(item) for item in ir.ArrayAttr(op.attributes["iterator_types"]))
    return _Generic(op, extents_of(op, maps, values, len(parallel)), parallel, values[:count], maps[:count])


def _body_operations(op: Any, name: str) -> list[Any]:
    return [inner.operation for inner in op.regions[0].blocks[0].operations if inner.operation.name == name]


def _defining(value: Any, name: str) -> Any | None:
    owner = value.owner
    return owner if not isinstance(owner, ir.Block) and owner.name == name else None


def _make(
    source: _Generic, inits: Sequence[Any], results: Sequence[Any], build: Any, dims: Sequence[int] | None = None
) -> Any:
    """A generic with the inputs of `source` and the given inits (maps `results`); `build(arguments)` yields values.

    `dims` restricts the iteration space to these dimensions of `source`.
    """
    parallel = source.parallel if dims is None else [True] * len(dims)
    maps = [*source.maps, *results]
    op = linalg.GenericOp(
        [init.type for init in inits],
        list(source.inputs),
        list(inits),
        ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
        _iterators(parallel),
    )
    elements = [ir.RankedTensorType(v.type).element_type if isinstance(v.type, ir.RankedTensorType) else v.type
                for v in (*source.inputs, *inits)]  # fmt: skip
    block = op.regions[0].blocks.append(*elements, arg_locs=[op.location] * len(elements))
    with ir.InsertionPoint(block):
        linalg.YieldOp(build(list(block.arguments)))
    return op


def _copy(operation: Any, mapping: dict[Any, Any]) -> None:
    """Copy one scalar operation to the insertion point."""
    operands = [mapping.get(operand, operand) for operand in operation.operands]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    types = [result.type for result in operation.results]
    made = ir.Operation.create(operation.name, results=types, operands=operands, attributes=attributes)
    mapping.update(zip(operation.results, made.results, strict=True))


def _copy_body(block: Any, arguments: Sequence[Any], known: dict[Any, Any], until: Any = None) -> dict[Any, Any]:
    """Copy the operations of a body, but for those whose results are `known`, up to `until` or the end."""
    mapping = {**dict(zip(block.arguments, arguments, strict=True)), **known}
    for inner in block.operations:
        operation = inner.operation
        if operation.name == "linalg.yield" or (until is not None and operation == until):
            break
        if not (operation.results and operation.results[0] in known):
            _copy(operation, mapping)
    return mapping


def _indices(source: _Generic) -> dict[int, int]:
    """Inputs with the values of the loop indices that the body uses: dimension -> number of the input."""
    used = sorted({ir.IntegerAttr(op.attributes["dim"]).value for op in _body_operations(source.op, "linalg.index")})
    return {d: source.add(_iota(source.extents[d]), [d]) for d in used}


def _known_indices(source: _Generic, places: dict[int, int], arguments: Sequence[Any]) -> dict[Any, Any]:
    index = ir.IndexType.get()
    result = {}
    for op in _body_operations(source.op, "linalg.index"):
        value = arguments[places[ir.IntegerAttr(op.attributes["dim"]).value]]
        result[op.results[0]] = arith.IndexCastOp(index, value).result
    return result


def _loop_dims(source: _Generic, extract: Any) -> dict[int, int]:
    """Dimensions of the table of an extract that run along an iteration dimension."""
    table, *wanted = extract.operands
    fixed: dict[int, int] = {}
    for position, (value, extent) in enumerate(zip(wanted, shape_of(table), strict=True)):
        index = _defining(value, "linalg.index")
        if index is not None and source.extents[ir.IntegerAttr(index.attributes["dim"]).value] == extent:
            fixed[position] = ir.IntegerAttr(index.attributes["dim"]).value
    return fixed


def _static_read(source: _Generic, extract: Any) -> tuple[Any, list[int]] | None:
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
    kind = ir.RankedTensorType.get([*extents, 1], _i64())
    indices = arith.ConstantOp(kind, ir.DenseElementsAttr.get(array, type=_i64())).result
    rest = [shape_of(table)[position] for position in sorted(fixed)]
    element = ir.RankedTensorType(table.type).element_type
    made = tensor.GatherOp(ir.RankedTensorType.get([*extents, *rest], element), table, indices, chosen)
    return made.result, [*order, *(fixed[position] for position in sorted(fixed))]


def _known_arrays(source: _Generic, order: Sequence[int]) -> dict[Any, Any]:
    """Values of loop indices and of constant operands over the iteration dimensions `order`."""
    grid = dict(zip(order, np.indices([source.extents[d] for d in order], dtype=np.int64), strict=True))
    known: dict[Any, Any] = {}
    for op in _body_operations(source.op, "linalg.index"):
        d = ir.IntegerAttr(op.attributes["dim"]).value
        if d in grid:
            known[op.results[0]] = grid[d]
    for argument, value, map_ in zip(source.block.arguments, source.inputs, source.maps, strict=False):
        array = constant_array(value) if is_tensor(value) else None
        if array is not None and set().union(*(dims_in(e) for e in map_.results)) <= set(order):
            known[argument] = array[tuple(evaluate(e, grid) for e in map_.results)]
    return known


def _write_extract(source: _Generic, extract: Any, places: dict[int, int]) -> Any:
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
    select = _Generic(source.op, extents, (*([True] * count), *([False] * len(chosen))), [], [])
    select.add(table, [loops[position] for position in range(len(shape))])
    for value, dims in indices:
        select.add(value, dims)
    for i, position in enumerate(chosen):
        select.add(_iota(shape[position]), [count + i])
    element = ir.RankedTensorType(table.type).element_type
    zero = arith.ConstantOp(element, _zero(element)).result
    empty = tensor.EmptyOp(list(source.extents), element).result
    init = linalg.fill(zero, outs=[empty])

    def build(arguments: list[Any]) -> list[Any]:
        value = arguments[0]
        for i in range(len(chosen)):
            equal = ir.IntegerAttr.get(_i64(), 0)
            hit = arith.CmpIOp(equal, arguments[1 + i], arguments[1 + len(chosen) + i]).result
            value = arith.SelectOp(hit, value, zero).result
        return [_plus(value, arguments[-1], element)]

    return _make(select, [init], [_map(rank, range(count))], build).results[0]


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


def _needed_dims(source: _Generic, value: Any) -> list[int]:
    """Iteration dimensions that a scalar of the body depends on."""
    arguments, dims = _depends(value, source.block)
    for number in arguments:
        if number < len(source.maps):
            dims |= set().union(*(dims_in(e) for e in source.maps[number].results))
    return sorted(dims)


def _write_index(source: _Generic, value: Any, places: dict[int, int]) -> tuple[Any, list[int]]:
    """A tensor with the values of an index of an extract, over the dimensions it depends on."""
    block = source.block
    arguments, _ = _depends(value, block)
    order = _needed_dims(source, value)
    dims = set(order)
    new = {d: i for i, d in enumerate(order)}
    small = _Generic(source.op, tuple(source.extents[d] for d in order), (True,) * len(order), [], [])
    numbers: dict[int, int] = {}
    for number, (operand, map_) in enumerate(zip(source.inputs, source.maps, strict=True)):
        used = number in arguments or any(number == places.get(d) for d in dims)
        if used:
            replaced = [ir.AffineExpr.get_dim(new.get(d, 0)) for d in range(source.rank)]
            small.inputs.append(operand)
            small.maps.append(_substituted(map_, replaced, len(order)))
            numbers[number] = len(small.inputs) - 1
    empty = tensor.EmptyOp([source.extents[d] for d in order], _i64()).result

    def build(found: list[Any]) -> list[Any]:
        mapping: dict[Any, Any] = {}
        index = ir.IndexType.get()
        for number, argument in enumerate(block.arguments):
            if number in numbers:
                mapping[argument] = found[numbers[number]]
        for op in _body_operations(source.op, "linalg.index"):
            d = ir.IntegerAttr(op.attributes["dim"]).value
            if d in dims:
                mapping[op.results[0]] = arith.IndexCastOp(index, found[numbers[places[d]]]).result
        _copy_slice(value, block, mapping)
        return [arith.IndexCastOp(_i64(), mapping[value]).result]

    made = _make(small, [empty], [_map(len(order), range(len(order)))], build, dims=order)
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
    _copy(value.owner, mapping)


def _substituted(map_: Any, replaced: Sequence[Any], rank: int) -> Any:
    results = [expression.compose(ir.AffineMap.get(rank, 0, list(replaced))) for expression in map_.results]
    return ir.AffineMap.get(rank, 0, results)


def expand(op: Any) -> None:
    """Rewrite one generic whose body has loop indices or data-dependent reads."""
    extracts = _body_operations(op, "tensor.extract")
    with ir.InsertionPoint(op), op.location:
        source = _read(op)
        originals = len(source.inputs)
        places = _indices(source)
        reads = {}
        for extract in extracts:
            if not all(source.parallel):
                raise error_at(op, "reads at computed indices inside a reduction", hint="keep the two apart")
            read = _static_read(source, extract)
            value, dims = read or (_write_extract(source, extract, places), list(range(source.rank)))
            reads[extract.results[0]] = source.add(value, dims)
        inits = list(op.operands)[originals:]
        results = maps_of(op)[originals:]
        block = source.block

        def build(arguments: list[Any]) -> list[Any]:
            own = [*arguments[:originals], *arguments[len(source.inputs) :]]
            known = {**_known_indices(source, places, arguments), **{v: arguments[n] for v, n in reads.items()}}
            mapping = _copy_body(block, own, known)
            return [mapping.get(value, value) for value in list(block.operations)[-1].operands]

        made = _make(source, inits, results, build)
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
    op.erase()


@dataclass(frozen=True)
class ExpandIndices(Pass):
    """Give loop indices and data-dependent reads as operands to the operations that use them."""

    name = "expand-indices"

    def run(self, module: Any) -> None:
        """Rewrite every generic of the module that needs it; raises CompileError for reads it cannot express."""
        with module.context, ir.Location.unknown():
            for function in module.body.operations:
                if function.operation.name != "func.func":
                    continue
                for op in list(function.operation.regions[0].blocks[0].operations):
                    if op.operation.name != "linalg.generic":
                        continue
                    body = {inner.operation.name for inner in op.operation.regions[0].blocks[0].operations}
                    if body & {"linalg.index", "tensor.extract"}:
                        expand(op.operation)
