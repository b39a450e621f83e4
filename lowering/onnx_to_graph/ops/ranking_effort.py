"""What it takes to find the first elements of a line: how it is cut into groups, how many pairs are compared, and when
that is too much."""

import math
from collections.abc import Callable

from mnc.dialects.graph.shapes import text
from mnc.lowering.onnx_to_graph.node import Node
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import WORD_BYTES, chip

WORTH = 2
"""Factor by which groups must save comparisons: they take another pass."""
FEW = 20_000
"""Comparisons that take about as long as a second pass over any number of elements."""
MOST_PARTS = 16
"""Parts of so many pairs as are compared at once, at most: the program has operations of its own for each."""


def pairs_at_once() -> int:
    """Pairs that are compared at once: half of what one local memory of all PEs holds. So there is room for extents
    that do not divide among the PEs, and for the values beside the pairs."""
    return max(chip().memories[Memory.LM0].total_bytes // WORD_BYTES // 2, 1)


def group_size(extent: int, count: int, lines: int = 1) -> int:
    """Elements of a group with which the fewest pairs are compared; the extent where groups save little. Pairs of
    groups are compared at once if any groups are small enough for that."""

    def pairs(size: int) -> int:
        remaining = -(-extent // size) * count
        return extent * (size + count) + remaining * (remaining + count)

    limit = max(pairs_at_once() // (extent * lines), 2 * count)
    best = min(range(2 * count, min(extent, limit + 1)), key=pairs, default=extent)
    alone = extent * (extent + count)
    return best if best < extent and alone > FEW and WORTH * pairs(best) < alone else extent


def comparisons(extent: int, count: int, lines: int) -> int:
    """Pairs of elements that are compared, and of elements and places, to find the first ones of each line."""
    size = group_size(extent, count, lines)
    if size == extent:
        return lines * extent * (extent + count)
    groups = -(-extent // size)
    return lines * groups * size * (size + count) + comparisons(groups * count, count, lines)


def check_effort(node: Node, shape: list[int], axis: int, count: int) -> None:
    """Raise CompileError if the first `count` elements along an axis take more comparisons than are made."""
    extent, lines = shape[axis], math.prod(shape[:axis] + shape[axis + 1 :])
    most = MOST_PARTS * pairs_at_once()
    needed = comparisons(extent, count, lines)
    if needed <= most:
        return
    which = "all" if count == extent else f"the first {count}"
    message = f"to order {which} of {extent} elements takes {needed} comparisons"
    if lines > 1:
        message = f"{message} for the {lines} lines of {text(shape)}"
    length = _most(extent, lambda n: comparisons(n, min(n, count), lines) <= most)
    fewer = _most(count, lambda n: comparisons(extent, n, lines) <= most)
    ways = [f"k of at most {fewer}"] * (fewer > 0) + [f"at most {length} elements along axis {axis}"] * (length > 0)
    ways += [f"at most {_most(lines, lambda n: comparisons(extent, count, n) <= most)} lines"] * (lines > 1)
    raise node.error(f"{message}, at most {most} are made", hint=f"it works with {', or '.join(ways)}")


def _most(end: int, works: Callable[[int], bool]) -> int:
    """The largest number below `end` that works, if all below it do as well; 0 if 1 does not."""
    low, high = 0, end
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low
