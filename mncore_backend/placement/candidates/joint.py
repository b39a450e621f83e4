"""Contractions of which both factors come from DRAM in parts: how they are cut, and what that hides.

A part is a range of the address digit of one contracted dimension, the same for both factors. While one part is
multiplied, the next ones arrive.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, isqrt, prod

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.costs import arrival
from mnc.mncore_backend.placement.candidates.halves import speed, whole_matrices
from mnc.mncore_backend.placement.candidates.problem import Contraction, ContractionPlan, Operand, half_memory
from mnc.mncore_backend.placement.candidates.space import Access
from mnc.mncore_backend.placement.candidates.windows import tiled_access
from mnc.mncore_backend.target import CYCLES_PER_STEP, Precision

OVERHEAD = 16
"""Steps that one more part costs: the ends of its kernel, and gaps between its transfers."""
MOST = 16


@dataclass(frozen=True)
class Factor:
    """Where a factor comes to, and the iteration dimension of each dimension of that layout."""

    layout: Layout
    access: Access

    def address_sizes(self, dim: int) -> list[int]:
        """Sizes of the address digits of an iteration dimension."""
        own = self.layout.dims[self.access.index(dim)] if dim in self.access else ()
        return [d.size for d in own if d.axis is Axis.ADDRESS and d.size > 1]


@dataclass(frozen=True)
class JointCut:
    """The iteration dimension that is cut, the size of its address digit, how much of that a part has, and the long
    words per PE of the largest part."""

    dim: int
    size: int
    each: int
    held: int

    @property
    def parts(self) -> int:
        """How many there are."""
        return ceil(self.size / self.each)


def joint_cut(
    left: Factor, right: Factor, result: Layout, contracted: Iterable[int], precision: Precision
) -> JointCut | None:
    """How to cut a contraction with these factors and this result, parts of it if they are summed up later; None if
    that hides less than it costs. Few parts leave the transfers of the first one bare, many cost more of `OVERHEAD`.
    A matrix of halves has two blocks of what is contracted, which stay together."""
    contracted = list(contracted)
    blocks = prod(size for d in contracted for size in right.address_sizes(d))
    kernel = ceil(result.local_size / CYCLES_PER_STEP) * blocks / speed(precision)
    fetched = arrival(left.layout).mv + arrival(right.layout).mv
    wanted = isqrt(int(min(kernel, fetched) / OVERHEAD))
    for dim in contracted:
        sizes = left.address_sizes(dim)
        if len(sizes) != 1 or sizes != right.address_sizes(dim):
            continue
        largest = max(left.layout.local_size, right.layout.local_size)
        parts = min(sizes[0], max(wanted, ceil(largest / (half_memory() // 2))), MOST)
        each = min(sizes[0], whole_matrices(ceil(sizes[0] / parts), precision))
        if wanted >= 2 and largest // sizes[0] * each <= half_memory():
            return JointCut(dim, sizes[0], each, largest // sizes[0] * each)
    return None


def _factors(problem: Contraction, plan: ContractionPlan) -> tuple[Factor, Factor]:
    """Where the factors of a plan come to."""

    def factor(operand: Operand, layout: Layout) -> Factor:
        if operand.windows is None:
            return Factor(layout, operand.access)
        return Factor(layout, tiled_access(operand.windows, problem.extents, plan.all_digits))

    return factor(problem.left, plan.left), factor(problem.right, plan.right)


def _contracted(problem: Contraction) -> list[int]:
    return [d for d, role in problem.roles().items() if role == "k"]


def comes_by_channels(problem: Contraction, plan: ContractionPlan) -> bool:
    """Whether the left factor comes one index of a contracted dimension after the other: then no result is complete
    before all has come."""
    left, _ = _factors(problem, plan)
    return any(left.address_sizes(d) for d in _contracted(problem))


def joint_cut_of(problem: Contraction, plan: ContractionPlan) -> JointCut | None:
    """How a plan is cut; None if a factor does not come from DRAM for this contraction only, or nothing is gained."""
    if not all(o.alone and o.layout is None for o in (problem.left, problem.right)):
        return None
    return joint_cut(*_factors(problem, plan), plan.result, _contracted(problem), problem.precision)
