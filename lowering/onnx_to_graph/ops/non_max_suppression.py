"""NonMaxSuppression: the best box, then the best of those that do not overlap it much, and so on.

Which boxes are left depends on every choice before, so boxes are chosen one after the other, of all batches and
classes at once, as often as there may be results. Every step does the same with what the one before left over, so that
the compiler sees equal layers: of each box a score, -inf once it is chosen or suppressed, and an age, which is the
number of steps since it was chosen. Ages say at the end in which order boxes were chosen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.extents.common import refuse_dimensions
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.compaction import first_places
from mnc.lowering.onnx_to_graph.run_time_extents import Count
from mnc.lowering.onnx_to_graph.size_limits import MOST_NODES

OPERATIONS = 35
"""Of a step."""


@dataclass(frozen=True)
class _Boxes:
    """Corners and areas, each [batches, 1, boxes] or, of a chosen one, [batches, classes, 1]."""

    low: tuple[Any, Any]
    high: tuple[Any, Any]
    area: Any


def non_max_suppression(node: Node) -> Any:
    """Rows (batch, class, box), best boxes first in every class."""
    boxes, scores = node.operand(0), node.operand(1)
    _check_extents(node)
    (batches, count, _), classes = shape_of(boxes), shape_of(scores)[1]
    wanted = node.constant_ints(2, "max_output_boxes_per_class")[0] if node.has(2) else 0
    steps = max(min(wanted, count), 0)
    if steps * batches * classes == 0:
        return constant(np.zeros((0, 3), np.int64))
    if steps * OPERATIONS > MOST_NODES:
        most = MOST_NODES // OPERATIONS
        message = f"it chooses up to {steps} boxes of a class one after the other, {most} are possible"
        raise node.error(message, hint="give a smaller max_output_boxes_per_class, or fewer boxes, as TopK does")
    ages = _ages(node, _corners(boxes, bool(node.attribute("center_point_box", 0))), steps)
    return _rows(node, ages, steps)


def _check_extents(node: Node) -> None:
    why = "which is not taken there"
    refuse_dimensions(node, 0, (0, 2), why)
    refuse_dimensions(node, 1, (0, 1), why)


def _corners(boxes: Any, centred: bool) -> _Boxes:
    """Of boxes that are two corners in any order (y, x, y, x), or a centre and a size."""
    batches, count, _ = shape_of(boxes)
    columns = [
        reshape(graph.Slice.build(boxes, starts=[0, 0, i], limits=[batches, count, i + 1], steps=[1] * 3).result,
                [batches, 1, count])
        for i in range(4)
    ]  # fmt: skip
    low, high = [], []
    for first, second in zip(columns[:2], columns[2:], strict=True):
        if centred:
            half = graph.Mul.build(second, constant(0.5, like=second)).result
            first, second = graph.Sub.build(first, half).result, graph.Add.build(first, half).result
            low.append(first)
            high.append(graph.Max.build(first, second).result)  # one of a size below 0 has no area
        else:
            low.append(graph.Min.build(first, second).result)
            high.append(graph.Max.build(first, second).result)
    return _boxes(low, high)


def _boxes(low: list[Any], high: list[Any]) -> _Boxes:
    sides = [graph.Sub.build(end, begin).result for begin, end in zip(low, high, strict=True)]
    return _Boxes((low[0], low[1]), (high[0], high[1]), graph.Mul.build(*sides).result)


def _candidates(node: Node) -> Any:
    """Scores, and -inf for what is no candidate. The smallest number stands for a score of -inf."""
    scores = node.operand(1)
    smallest, gone = constant(float(np.finfo(np.float32).min), like=scores), constant(-np.inf, like=scores)
    kept = graph.Max.build(scores, smallest).result
    if node.has(4):
        enough = graph.Greater.build(scores, reshape(node.operand(4), [])).result
        kept = graph.Where.build(enough, kept, gone).result
    for index, dimension in ((0, 1), (1, 2)):
        if dimension in node.extents(index):
            valid = node.extents(index)[dimension].valid(2, 3)
            kept = graph.Where.build(valid, kept, gone).result
    return kept


def _ages(node: Node, boxes: _Boxes, steps: int) -> Any:
    """[batches, classes, boxes]: how many steps before the end a box was chosen, the last step is 1; 0 for others."""
    scores = _candidates(node)
    share = reshape(node.operand(3), []) if node.has(3) else constant(0, like=scores)
    share = graph.Max.build(share, constant(0, like=share)).result  # boxes that do not overlap are never suppressed
    numbers = constant(np.arange(shape_of(scores)[2], dtype=np.float32).reshape(1, 1, -1))
    ages = constant(np.zeros(shape_of(scores), np.float32))
    gone, zero = constant(-np.inf, like=scores), constant(0, like=ages)
    for _ in range(steps):
        best = graph.ArgReduce.build(scores, kind="max", axis=2, keepdims=True, select_last=False).result
        is_best = graph.Equal.build(numbers, cast(best, ir.F32Type.get())).result
        chosen = graph.And.build(is_best, graph.Greater.build(scores, gone).result).result
        removed = graph.Or.build(chosen, _suppressed(boxes, _box(boxes, chosen), share)).result
        scores = graph.Where.build(removed, gone, scores).result
        aging = graph.Or.build(chosen, graph.Greater.build(ages, zero).result).result
        ages = graph.Add.build(ages, cast(aging, ir.F32Type.get())).result
    return ages


def _box(boxes: _Boxes, chosen: Any) -> _Boxes:
    """The chosen box of every class; where none is, one at 0 without an area."""

    def own(value: Any) -> Any:
        kept = graph.Where.build(chosen, value, constant(0, like=value)).result
        return graph.Reduce.build(kept, kind="sum", axes=[2], keepdims=True).result

    return _boxes([own(value) for value in boxes.low], [own(value) for value in boxes.high])


def _suppressed(boxes: _Boxes, box: _Boxes, share: Any) -> Any:
    """Whether the common area is more than this share of what both cover; sides below 0 leave no common area."""
    sides = []
    for i in range(2):
        end, begin = graph.Min.build(boxes.high[i], box.high[i]).result, graph.Max.build(boxes.low[i], box.low[i])
        length = graph.Sub.build(end, begin).result
        sides.append(graph.Max.build(length, constant(0, like=length)).result)
    common = graph.Mul.build(*sides).result
    both = graph.Sub.build(graph.Add.build(boxes.area, box.area).result, common).result
    return graph.Greater.build(common, graph.Mul.build(both, share).result).result


def _rows(node: Node, ages: Any, steps: int) -> Any:
    batches, classes, count = shape_of(ages)
    lanes = batches * classes
    order = constant(np.arange(steps, 0, -1, dtype=np.float32).reshape(1, 1, steps, 1))
    hit = graph.Equal.build(reshape(ages, [batches, classes, 1, count]), order).result
    numbers = constant(np.arange(count, dtype=np.float32))
    index = graph.Where.build(hit, numbers, constant(0, like=numbers)).result
    index = graph.Reduce.build(index, kind="sum", axes=[3], keepdims=False).result
    index = reshape(cast(index, ir.IntegerType.get_signless(64)), [lanes * steps])
    is_chosen = cast(graph.Greater.build(ages, constant(0, like=ages)).result, ir.F32Type.get())
    total = graph.Reduce.build(is_chosen, kind="sum", axes=[2], keepdims=True).result
    lane = np.indices((batches, classes, steps)).reshape(3, -1)[:2].T
    if lanes == 1:
        node.found[0] = {0: Count(reshape(total, []), steps)}
        return concat_tree([constant(lane), reshape(index, [steps, 1])], 1)
    taken = graph.Less.build(constant(np.arange(steps, dtype=np.float32).reshape(1, 1, steps)), total).result
    places, found = first_places(reshape(taken, [lanes * steps]), lanes * steps, node)
    node.found[0] = {0: found}
    own = graph.Gather.build(constant(lane), places, axis=0).result
    return concat_tree([own, reshape(graph.Gather.build(index, places, axis=0).result, [lanes * steps, 1])], 1)
