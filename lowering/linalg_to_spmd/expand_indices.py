"""expand-indices: loop indices and data-dependent reads become operands, so that layouts can place them.

before:  linalg.generic ins(%x) { %i = linalg.index 1; ... tensor.extract %t[%i, %j] ... }
after:   linalg.generic ins(%x, %iota, %read) { ... }, where %iota holds 0, 1, 2, ... along dimension 1, and
         %read sums the elements of %t under the condition that their index is the wanted one

A read outside the table gives 0. The sum over a dimension of the table that an index chooses from is exact: all terms
but one are 0.

A reduction that upstream folding left as ``accumulator - x`` becomes ``accumulator + (-x)``: only a combination that
does not care about the order can be split over PEs.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import arith, ir
from mnc.core.context import error_at
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.lowering.linalg_to_spmd.computed_reads import static_read, write_extract
from mnc.lowering.linalg_to_spmd.reading import DIFFERENCES, maps_of
from mnc.lowering.linalg_to_spmd.rewriting import (
    Building,
    body_operations,
    copy_operation,
    iota,
    make_generic,
    read_building,
)


def _alive(block: Any, known: Container[Any]) -> tuple[list[Any], set[int]]:
    """What the result of a body depends on, beside values that are `known`: operations in order, and numbers of
    arguments."""
    operations = [inner.operation for inner in block.operations]
    wanted, alive = set(operations[-1].operands), []
    for operation in reversed(operations[:-1]):
        if any(result in wanted and result not in known for result in operation.results):
            alive.append(operation)
            wanted |= set(operation.operands)
    return alive[::-1], {number for number, argument in enumerate(block.arguments) if argument in wanted}


def _indices(source: Building, operations: Iterable[Any]) -> dict[int, int]:
    """Inputs with the values of the loop indices that these operations give: dimension -> number of the input."""
    used = sorted({ir.IntegerAttr(op.attributes["dim"]).value for op in operations if op.name == "linalg.index"})
    return {d: source.add(iota(source.extents[d]), [d]) for d in used}


def _known_indices(operations: Iterable[Any], places: dict[int, int], arguments: Sequence[Any]) -> dict[Any, Any]:
    index = ir.IndexType.get()
    result = {}
    for op in operations:
        if op.name == "linalg.index":
            value = arguments[places[ir.IntegerAttr(op.attributes["dim"]).value]]
            result[op.results[0]] = arith.IndexCastOp(index, value).result
    return result


def _reads(source: Building) -> tuple[dict[Any, tuple[Any, list[int]]], dict[int, int]]:
    """What the body reads at computed indices, with dimensions, and the inputs that hold loop indices."""
    extracts = body_operations(source.op, "tensor.extract")
    if extracts and not all(source.parallel):
        raise error_at(source.op, "reads at computed indices inside a reduction", hint="keep the two apart")
    reads = {extract.results[0]: static_read(source, extract) for extract in extracts}
    found = {value: read for value, read in reads.items() if read is not None}
    operations = _alive(source.block, found)[0]
    places = _indices(source, operations)
    for extract in operations:
        if extract.name == "tensor.extract":
            found[extract.results[0]] = write_extract(source, extract, places), list(range(source.rank))
    return found, places


def expand(op: Any) -> None:
    """Rewrite one generic whose body has loop indices or data-dependent reads; operands that only they needed go."""
    with ir.InsertionPoint(op), op.location:
        source = read_building(op)
        originals, block = len(source.inputs), source.block
        reads, places = _reads(source)
        operations, used = _alive(block, reads)
        kept = [number for number in range(originals) if number in used or not all(source.parallel)]
        new = Building(
            op, source.extents, source.parallel, *([own[n] for n in kept] for own in (source.inputs, source.maps))
        )
        alive = {
            d
            for inner in operations
            if inner.name == "linalg.index"
            for d in [ir.IntegerAttr(inner.attributes["dim"]).value]
        }
        places = {d: new.add(source.inputs[number], [d]) for d, number in places.items() if d in alive}
        numbers = {value: new.add(read, dims) for value, (read, dims) in reads.items()}
        inits, results = list(op.operands)[originals:], maps_of(op)[originals:]

        def build(arguments: list[Any]) -> list[Any]:
            mapping = {block.arguments[number]: arguments[i] for i, number in enumerate(kept)}
            mapping |= dict(zip(list(block.arguments)[originals:], arguments[len(new.inputs) :], strict=True))
            mapping |= {value: arguments[n] for value, n in numbers.items()}
            mapping |= _known_indices(operations, places, arguments)
            for inner in operations:
                if inner.results[0] not in mapping:
                    copy_operation(inner, mapping)
            return [mapping.get(value, value) for value in list(block.operations)[-1].operands]

        made = make_generic(new, inits, results, build)
        for old, result in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(result)
    op.erase()


def add_negated(op: Any) -> None:
    """Write ``accumulator - x`` at the end of a body as ``accumulator + (-x)``, which is the same number."""
    block = op.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    if len(end.operands) != 1 or isinstance(end.operands[0].owner, ir.Block):
        return
    difference = end.operands[0].owner
    if difference.name not in DIFFERENCES or difference.operands[0] != list(block.arguments)[-1]:
        return
    accumulator, value = difference.operands
    with ir.InsertionPoint(difference), difference.location:
        if difference.name == "arith.subf":
            total = arith.AddFOp(accumulator, arith.NegFOp(value).result).result
        else:
            zero = arith.ConstantOp(value.type, ir.IntegerAttr.get(value.type, 0)).result
            total = arith.AddIOp(accumulator, arith.SubIOp(zero, value).result).result
    difference.results[0].replace_all_uses_with(total)
    difference.erase()


@dataclass(frozen=True)
class ExpandIndices(Pass):
    """Give loop indices and data-dependent reads as operands to the operations that use them."""

    name = "expand-indices"

    def run(self, module: Any) -> None:
        """Rewrite every generic of the module that needs it; raises CompileError for reads it cannot express."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                for op in list(function.operation.regions[0].blocks[0].operations):
                    if op.operation.name != "linalg.generic":
                        continue
                    if "reduction" in str(op.operation.attributes["iterator_types"]):
                        add_negated(op.operation)
                    body = {inner.operation.name for inner in op.operation.regions[0].blocks[0].operations}
                    if body & {"linalg.index", "tensor.extract"}:
                        expand(op.operation)
