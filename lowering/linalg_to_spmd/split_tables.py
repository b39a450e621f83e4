"""Tables larger than a share of local memory are read piece by piece: each piece gives what it holds, and their sum is
what was read."""

from typing import Any

import numpy as np

from mnc.core.bindings import arith, ir, tensor
from mnc.lowering.linalg_to_spmd.computed_reads import CHOSEN
from mnc.lowering.linalg_to_spmd.reading import maps_of, shape_of
from mnc.lowering.linalg_to_spmd.rewriting import Building, dims_map, index_type, iota, make_generic


def pieces_of_table(op: Any, words: int) -> tuple[int, int, list[tuple[int, int]]] | None:
    """Which index chooses from the dimension of the table that is cut, that dimension, and the ranges; None for what is
    no read at computed indices or has at most `words` elements."""
    size = int(np.prod(shape_of(op.operands[0]))) if CHOSEN in op.attributes else 0
    if size <= words:
        return None
    count = ir.IntegerAttr(op.attributes[CHOSEN]).value
    map_ = maps_of(op)[0]
    places = {ir.AffineDimExpr(e).position - (map_.n_dims - count): i for i, e in enumerate(map_.results)}
    number, dim = max(((n, i) for n, i in places.items() if n >= 0), key=lambda p: shape_of(op.operands[0])[p[1]])
    extent = shape_of(op.operands[0])[dim]
    step = -(-extent // -(-size // words))
    return number, dim, [(start, min(step, extent - start)) for start in range(0, extent, step)]


def _shifted(op: Any, indices: Any, start: int) -> Any:
    """Indices into the piece that begins at `start`."""
    shape = shape_of(indices)
    dims = range(len(shape))
    source = Building(op, shape, (True,) * len(shape), [indices], [dims_map(len(shape), dims)])
    empty = tensor.EmptyOp(list(shape), index_type()).result

    def build(arguments: list[Any]) -> list[Any]:
        first = arith.ConstantOp(index_type(), ir.IntegerAttr.get(index_type(), start)).result
        return [arith.SubIOp(arguments[0], first).result]

    return make_generic(source, [empty], [dims_map(len(shape), dims)], build).results[0]


def read_in_pieces(op: Any, number: int, ranges: list[tuple[int, int]], parts: list[Any]) -> Any:
    """The sum of the reads of all `parts` of the table, which come in the order of `ranges`."""
    count = ir.IntegerAttr(op.attributes[CHOSEN]).value
    indices, total = op.operands[1 + number], op.operands[len(op.operands) - 1]
    for (start, size), part in zip(ranges, parts, strict=True):
        shifted = _shifted(op, indices, start) if start else indices
        numbers = iota(size)
        made = op.clone()
        replaced = {0: part, 1 + number: shifted, 1 + count + number: numbers, len(op.operands) - 1: total}
        for place, value in replaced.items():
            made.operands[place] = value
        total = made.results[0]
    return total
