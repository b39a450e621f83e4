"""Making new `linalg.generic` operations out of the parts of old ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import arith, ir, linalg
from mnc.lowering.linalg_to_spmd.reading import extents_of, maps_of

ITERATOR = {True: "parallel", False: "reduction"}


def index_type() -> Any:
    """Type of index operands."""
    return ir.IntegerType.get_signless(64)


def iota(extent: int) -> Any:
    """The tensor 0, 1, ..., extent - 1."""
    type_ = ir.RankedTensorType.get([extent], index_type())
    values = np.arange(extent, dtype=np.int64)
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get(values, type=index_type())).result


def dims_map(rank: int, dims: Sequence[int]) -> Any:
    """The map of `rank` dimensions that chooses `dims`."""
    return ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in dims])


def _iterators(parallel: Sequence[bool]) -> Any:
    return ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{ITERATOR[p]}>") for p in parallel])


@dataclass
class Building:
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
        self.maps.append(dims_map(self.rank, dims))
        return len(self.inputs) - 1


def read_building(op: Any) -> Building:
    """The parts of a generic."""
    maps = maps_of(op)
    values = list(op.operands)
    count = len(values) - len(op.results)
    parallel = tuple("parallel" in str(item) for item in ir.ArrayAttr(op.attributes["iterator_types"]))
    return Building(op, extents_of(op, maps, values, len(parallel)), parallel, values[:count], maps[:count])


def body_operations(op: Any, name: str) -> list[Any]:
    """Operations of this name in the body of a generic."""
    return [inner.operation for inner in op.regions[0].blocks[0].operations if inner.operation.name == name]


def defining(value: Any, name: str) -> Any | None:
    """The operation that makes a value, if it has this name."""
    owner = value.owner
    return owner if not isinstance(owner, ir.Block) and owner.name == name else None


def make_generic(
    source: Building, inits: Sequence[Any], results: Sequence[Any], build: Any, dims: Sequence[int] | None = None
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


def copy_operation(operation: Any, mapping: dict[Any, Any]) -> None:
    """Copy one scalar operation to the insertion point."""
    operands = [mapping.get(operand, operand) for operand in operation.operands]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    types = [result.type for result in operation.results]
    made = ir.Operation.create(operation.name, results=types, operands=operands, attributes=attributes)
    mapping.update(zip(operation.results, made.results, strict=True))


def substituted(map_: Any, replaced: Sequence[Any], rank: int) -> Any:
    """A map with its dimensions replaced by expressions of `rank` dimensions."""
    results = [expression.compose(ir.AffineMap.get(rank, 0, list(replaced))) for expression in map_.results]
    return ir.AffineMap.get(rank, 0, results)
