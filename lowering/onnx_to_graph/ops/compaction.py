"""Places of the true elements of a vector, one behind the other: what operators need whose results have as many rows
as a run finds.

The running sum of a vector of truth values says how many come up to each place. The place of element number j is the
number of places at which the running sum is j and less. All of them are counted where that takes few comparisons; else
they are looked up in a tree: rows of places by the sums at their ends, then places within a row.
"""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, reshape, shape_of
from mnc.lowering.onnx_to_graph.run_time_extents import LARGEST, Count

FEW = 131_072
"""Comparisons that take no longer than a look-up."""


def first_places(mask: Any, most: int, node: Node) -> tuple[Any, Count]:
    """The places of the first `most` true elements of a vector with elements, in 64 bits, and 0 behind them; and their
    number, which may not exceed `most`. Raises CompileError if places are no exact floats."""
    if shape_of(mask)[0] > LARGEST:
        message = f"it counts among {shape_of(mask)[0]} elements, and exact counts go up to {LARGEST}"
        raise node.error(message, hint="split its input")
    running = graph.CumSum.build(cast(mask, ir.F32Type.get()), axis=0, exclusive=False, reverse=False).result
    last = shape_of(running)[0] - 1
    total = graph.Slice.build(running, starts=[last], limits=[last + 1], steps=[1]).result
    count = Count(reshape(total, []), most)
    first = _first_above(running, most)
    places = graph.Where.build(count.valid(), first, constant(0, like=first)).result
    return cast(places, ir.IntegerType.get_signless(64)), count


def _first_above(sums: Any, most: int) -> Any:
    """For every number below `most` the first place at which ascending sums are larger, or the number of sums."""
    wanted = constant(np.arange(most, dtype=np.float32).reshape(most, 1))
    extent = shape_of(sums)[0]
    if extent * most <= FEW:
        return _counted(reshape(sums, [1, extent]), wanted)
    width = max(int(np.ceil(extent ** (1 / _levels(extent, most)))), 2)
    rows = -(-extent // width)
    if rows * width > extent:
        filled = graph.Pad.build(sums, low=[0], high=[rows * width - extent], value=np.inf, mode="constant")
        sums = filled.result
    table = reshape(sums, [rows, width])
    ends = graph.Slice.build(table, starts=[0, width - 1], limits=[rows, width], steps=[1, 1]).result
    row = _first_above(reshape(ends, [rows]), most)
    row = graph.Min.build(row, constant(rows - 1, like=row)).result
    own = graph.Gather.build(table, cast(row, ir.IntegerType.get_signless(64)), axis=0).result
    begin = graph.Mul.build(row, constant(width, like=row)).result
    return graph.Add.build(begin, _counted(own, wanted)).result


def _levels(extent: int, most: int) -> int:
    """Levels of the tree with which the first of them takes few comparisons, or rows are short."""
    levels = 2
    while extent ** (1 / levels) * most > FEW and extent ** (1 / levels) > SHORT:
        levels += 1
    return levels


SHORT = 32
"""Rows that are looked up as a whole: shorter ones save nothing."""


def _counted(sums: Any, wanted: Any) -> Any:
    """How many sums of a row are at most the wanted number."""
    passed = cast(graph.LessOrEqual.build(sums, wanted).result, ir.F32Type.get())
    return graph.Reduce.build(passed, kind="sum", axes=[1], keepdims=False).result
