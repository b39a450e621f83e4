"""expand-indices: loop indices and data-dependent reads become operands, so that layouts can place them.

before:  linalg.generic ins(%x) { %i = linalg.index 1; ... tensor.extract %t[%i, %j] ... }
after:   linalg.generic ins(%x, %iota, %read) { ... }, where %iota holds 0, 1, 2, ... along dimension 1, and
         %read sums the elements of %t under the condition that their index is the wanted one

A read outside the table gives 0. The sum over a dimension of the table that an index chooses from is exact: all terms
but one are 0.

A reduction that upstream folding left as ``accumulator - x`` becomes ``accumulator + (-x)``: only a combination that
does not care about the order can be split over PEs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import arith, ir
from mnc.core.context import error_at
from mnc.core.pass_base import Pass
from mnc.lowering.linalg_to_spmd.computed_reads import static_read, write_extract
from mnc.lowering.linalg_to_spmd.reading import maps_of
from mnc.lowering.linalg_to_spmd.rewriting import (
    Building,
    body_operations,
    copy_body,
    iota,
    make_generic,
    read_building,
)


def _indices(source: Building) -> dict[int, int]:
    """Inputs with the values of the loop indices that the body uses: dimension -> number of the input."""
    used = sorted({ir.IntegerAttr(op.attributes["dim"]).value for op in body_operations(source.op, "linalg.index")})
    return {d: source.add(iota(source.extents[d]), [d]) for d in used}


def _known_indices(source: Building, places: dict[int, int], arguments: Sequence[Any]) -> dict[Any, Any]:
    index = ir.IndexType.get()
    result = {}
    for op in body_operations(source.op, "linalg.index"):
        value = arguments[places[ir.IntegerAttr(op.attributes["dim"]).value]]
        result[op.results[0]] = arith.IndexCastOp(index, value).result
    return result


def expand(op: Any) -> None:
    """Rewrite one generic whose body has loop indices or data-dependent reads."""
    extracts = body_operations(op, "tensor.extract")
    with ir.InsertionPoint(op), op.location:
        source = read_building(op)
        originals = len(source.inputs)
        places = _indices(source)
        reads = {}
        for extract in extracts:
            if not all(source.parallel):
                raise error_at(op, "reads at computed indices inside a reduction", hint="keep the two apart")
            read = static_read(source, extract)
            value, dims = read or (write_extract(source, extract, places), list(range(source.rank)))
            reads[extract.results[0]] = source.add(value, dims)
        inits = list(op.operands)[originals:]
        results = maps_of(op)[originals:]
        block = source.block

        def build(arguments: list[Any]) -> list[Any]:
            own = [*arguments[:originals], *arguments[len(source.inputs) :]]
            known = {**_known_indices(source, places, arguments), **{v: arguments[n] for v, n in reads.items()}}
            mapping = copy_body(block, own, known)
            return [mapping.get(value, value) for value in list(block.operations)[-1].operands]

        made = make_generic(source, inits, results, build)
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
    op.erase()


def add_negated(op: Any) -> None:
    """Write ``accumulator - x`` at the end of a body as ``accumulator + (-x)``, which is the same number."""
    block = op.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    if len(end.operands) != 1 or isinstance(end.operands[0].owner, ir.Block):
        return
    difference = end.operands[0].owner
    if difference.name not in ("arith.subf", "arith.subi") or difference.operands[0] != list(block.arguments)[-1]:
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
            for function in module.body.operations:
                if function.operation.name != "func.func":
                    continue
                for op in list(function.operation.regions[0].blocks[0].operations):
                    if op.operation.name != "linalg.generic":
                        continue
                    if "reduction" in str(op.operation.attributes["iterator_types"]):
                        add_negated(op.operation)
                    body = {inner.operation.name for inner in op.operation.regions[0].blocks[0].operations}
                    if body & {"linalg.index", "tensor.extract"}:
                        expand(op.operation)
