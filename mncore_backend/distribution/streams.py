"""Contractions in tiles: how large the tiles are of factors and results that pass local memory in turn.

A tile of both factors arrives while the one before is multiplied, and sums along the contracted dimension stay in place
from tile to tile. Tile shapes and splits are candidates; what each keeps busy for how long is their price.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, inf, prod

from mnc.mncore_backend.distribution.contraction import (
    WHOLE,
    Contraction,
    ContractionPlan,
    all_plans,
    dims_by_role,
)
from mnc.mncore_backend.distribution.costs import Resources, arrival, kernel_resources
from mnc.mncore_backend.distribution.joint import joint_cut_of
from mnc.mncore_backend.distribution.space import LANE_COUNT
from mnc.mncore_backend.pricing import reduction

ROOM = 3400
"""Long words of local memory that two tiles of each factor and two of the result may take together; kernels and
movements need the rest."""
HALVINGS = 8
FEWEST = 32
"""Elements of a dimension below which it is not cut further."""
OVERHEAD = 12
"""Steps of a tile that nothing else fills: the ends of its kernel."""

IMPERFECT = 0.1
"""Part of the work of other units that does not overlap with the busiest one, as measured: units share ports."""


@dataclass(frozen=True)
class TilePlan:
    """Extents of a tile in all iteration dimensions, how one tile is computed, and the steps of all of them."""

    extents: tuple[int, ...]
    plan: ContractionPlan
    tiles: int
    busy: Resources
    steps: float


def _sizes(extent: int) -> list[int]:
    """Extents of a tile along a dimension, largest first; whole blocks of lanes where it is cut."""
    found = [extent]
    for halving in range(1, HALVINGS + 1):
        size = ceil(ceil(extent / (1 << halving)) / LANE_COUNT) * LANE_COUNT
        if size < FEWEST or size >= found[-1]:
            break
        found.append(size)
    return found


def _outer_tiles(problem: Contraction, dims: Sequence[int]) -> Iterator[dict[int, int]]:
    """Tile extents of the dimensions of the result: whole, then cut in two along the larger one, again and again."""
    current = {d: problem.extents[d] for d in dims}
    while True:
        yield dict(current)
        choices = {d: [s for s in _sizes(problem.extents[d]) if s < current[d]] for d in dims}
        choices |= {d: [] for d in dims if d in problem.blocks}
        d = max((d for d in dims if choices[d]), key=lambda d: current[d], default=None)
        if d is None:
            return
        current[d] = choices[d][0]


def plan_tiles(problem: Contraction, *, stored: bool = True) -> TilePlan | None:
    """The cheapest tiles of a contraction whose factors come from DRAM; None if no tile fits local memory. `stored`:
    the result leaves for DRAM afterwards."""
    by_role = dims_by_role(problem)
    cut = {role: max(dims, key=lambda d: problem.extents[d], default=None) for role, dims in by_role.items()}
    outer = [cut[role] for role in "bmn" if cut[role] is not None]
    inner = _sizes(problem.extents[cut["k"]]) if cut["k"] is not None else [1]
    best: TilePlan | None = None
    since = 0
    for sizes in _outer_tiles(problem, [d for d in outer if d is not None]):
        found = [
            tile
            for size in inner
            if (tile := _best_split(problem, {**sizes, **({cut["k"]: size} if cut["k"] is not None else {})}, stored))
        ]
        cheapest = min(found, key=lambda tile: tile.steps, default=None)
        if cheapest is not None and (best is None or cheapest.steps < best.steps):
            best, since = cheapest, 0
        elif best is not None:
            since += 1
            if since == 2:  # smaller tiles only bring the factors more often
                break
    return best


def _best_split(problem: Contraction, sizes: dict[int, int], stored: bool) -> TilePlan | None:
    extents = tuple(sizes.get(d, extent) for d, extent in enumerate(problem.extents))
    counts = [ceil(whole / own) for whole, own in zip(problem.extents, extents, strict=True)]
    tiles = prod(counts)
    results = prod(n for d, n in enumerate(counts) if d in problem.result)
    best: TilePlan | None = None
    for plan, held in all_plans(replace(problem, extents=extents)):
        if plan.partial or not _fits(plan, tiles):
            continue
        one = kernel_resources(held, problem.precision) + arrival(plan.left) + arrival(plan.right)
        busy = one * tiles + (arrival(plan.result) * results if stored else Resources())
        steps = busy.bound + (busy.total - busy.bound) * max(IMPERFECT, 1 / tiles) + OVERHEAD * tiles
        if best is None or steps < best.steps:
            best = TilePlan(extents, plan, tiles, busy, steps)
    return best


def whole_steps(problem: Contraction) -> float:
    """Steps of a contraction that is not cut into tiles, as `plan_tiles` counts them; infinite if it does not fit."""
    best = inf
    for plan, held in all_plans(problem):
        if max(layout.local_size for layout in (plan.left, plan.right, plan.result)) > WHOLE:
            continue
        busy = kernel_resources(held, problem.precision) + arrival(plan.left) + arrival(plan.right)
        cut = joint_cut_of(problem, plan)
        bare = 1.0 if cut is None else max(IMPERFECT, 1 / cut.parts)
        sums = reduction(plan.result, plan.partial).total if plan.partial else 0.0
        steps = busy.bound + (busy.total - busy.bound) * bare + sums + arrival(plan.result).total
        best = min(best, steps)
    return best


def _fits(plan: ContractionPlan, tiles: int) -> bool:
    sizes = [plan.left.local_size, plan.right.local_size, plan.result.local_size]
    return max(sizes) <= WHOLE and sum(sizes) * min(2, tiles) <= ROOM


def tile_ranges(problem: Contraction, extents: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """(start, size) of every tile in all dimensions; those that add to one result follow each other."""
    order = sorted(range(len(extents)), key=lambda d: d not in problem.result)
    ranges = [
        [(start, min(own, whole - start)) for start in range(0, whole, own)]
        for whole, own in zip(problem.extents, extents, strict=True)
    ]
    for choice in product(*(ranges[d] for d in order)):
        yield tuple(choice[order.index(d)] for d in range(len(extents)))
