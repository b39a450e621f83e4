"""What it takes to find the first elements of a line: how it is cut into groups, how many pairs are compared, and when
that is too much."""

import math
from collections.abc import Callable

from mnc.dialects.graph.shapes import text
from mnc.lowering.onnx_to_graph.node import Node
from mnc.lowering.onnx_to_graph.run_time_extents import LARGEST
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import WORD_BYTES, cached_per_machine, chip

PASS = 1_500_000
"""Comparisons that take about as long as what a pass over groups waits for, however few elements there are: sums of the
whole chip, and what travels across it."""
GATHERED = 300
"""Comparisons that take about as long as to bring an element of a group that goes on to where it is needed. L1Bs do so
for lines of their own."""
MOST_PARTS = 16
"""Parts of so many pairs as are compared at once, at most: the program has operations of its own for each."""


def pairs_at_once() -> int:
    """Pairs that are compared at once: half of what one local memory of all PEs holds. So there is room for extents
    that do not divide among the PEs, and for the values beside the pairs."""
    return max(chip().memories[Memory.LM0].total_bytes // WORD_BYTES // 2, 1)


def group_size(extent: int, count: int, lines: int = 1) -> int:
    """Elements of the groups that are cut first; 1 where all elements are ranked."""
    return plan(extent, count, lines)[1]


@cached_per_machine(1 << 12)
def plan(extent: int, count: int, lines: int) -> tuple[int, int]:
    """What it takes, in comparisons, and the size of the groups, a power of two: smaller ones fill larger ones up."""
    best = pairs(extent, count, lines), 1
    at_once = -(-lines // chip().l1bs)
    size = 2
    while extent > count * size:
        moved = GATHERED * at_once * count * size
        ranks = pairs(-(-extent // size), count, lines)
        best = min(best, (PASS + moved + ranks + plan(count * size, count, lines)[0], size))
        size *= 2
    return best


def pairs(extent: int, count: int, lines: int) -> int:
    """Pairs of elements, and of elements and places, in every line."""
    return lines * extent * (extent + count)


def comparisons(extent: int, count: int, lines: int) -> int:
    """Pairs that are compared to find the first elements of each line."""
    size = group_size(extent, count, lines)
    if size == 1:
        return pairs(extent, count, lines)
    return pairs(-(-extent // size), count, lines) + comparisons(count * size, count, lines)


def check_effort(node: Node, shape: list[int], axis: int, count: int) -> None:
    """Raise CompileError if the first `count` elements along an axis take more comparisons than are made."""
    extent, lines = shape[axis], math.prod(shape[:axis] + shape[axis + 1 :])
    if extent > LARGEST:
        message = f"it counts among {extent} elements, and exact counts go up to {LARGEST}"
        raise node.error(message, hint="split its input")
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
