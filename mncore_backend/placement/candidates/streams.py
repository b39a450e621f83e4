"""Contractions in tiles: how large the tiles are of factors and results that pass local memory in turn.

A tile of both factors arrives while the one before is multiplied, and sums along the contracted dimension stay in place
from tile to tile. A tile of a factor that is used again is kept where there is room for all that come between. Tile
shapes, their order and splits are candidates; what each keeps busy for how long is their price.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import permutations, product
from math import ceil, inf, prod
from typing import NamedTuple

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.candidates import all_plans, dims_by_role, partial_bits
from mnc.mncore_backend.placement.candidates.costs import Resources, arrival, kernel_resources
from mnc.mncore_backend.placement.candidates.joint import comes_by_channels, joint_cut_of
from mnc.mncore_backend.placement.candidates.problem import Contraction, ContractionPlan, half_memory
from mnc.mncore_backend.placement.candidates.space import LANE_COUNT, Access
from mnc.mncore_backend.pricing import reduction
from mnc.mncore_backend.target import chip

HALVINGS = 8
PIECES = sorted(base << shift for base in (2, 3) for shift in range(HALVINGS))
"""Into how many tiles a dimension may be cut."""
FEWEST = 16
"""Elements of a dimension below which it is not cut further."""
OVERHEAD = 10
"""Steps of a tile that nothing else fills: the ends of its kernel."""
EFFICIENCY = 0.95
"""Part of the time for which the busiest unit works, as measured: units share ports."""
KEPT = (False, False), (False, True), (True, False), (True, True)
"""Which of the factors stay until they were used for the last time."""
DEAR = 1e9
"""Price of a long word that is missing: above all steps."""
PATIENCE = 12
"""How many extents may be looked at in a row that bring nothing before the search ends."""


def room() -> int:
    """Long words of local memory that the tiles in use and those that arrive meanwhile may take together; kernels and
    movements need the rest."""
    whole = sum(chip().memories[memory].longs for memory in (Memory.LM0, Memory.LM1))
    return whole - whole * 17 // 100


@dataclass(frozen=True)
class TilePlan:
    """Extents of a tile in all iteration dimensions, the dimensions in the order in which tiles follow each other,
    outermost first, how one tile is computed, what all of them keep busy, and their steps."""

    extents: tuple[int, ...]
    order: tuple[int, ...]
    plan: ContractionPlan
    tiles: int
    busy: Resources
    steps: float


def _sizes(extent: int) -> list[int]:
    """Extents of a tile along a dimension, largest first; whole blocks of lanes where it is cut. The last tile has at
    least half of the others' blocks: one that is nearly empty takes as long."""
    found = [extent]
    for pieces in PIECES:
        size = ceil(ceil(extent / pieces) / LANE_COUNT) * LANE_COUNT
        rest = extent % size or size
        if FEWEST <= size < found[-1] and 2 * rest > size - LANE_COUNT:
            found.append(size)
    return found


def plan_tiles(problem: Contraction, *, leaves: bool = True, joined: bool = False) -> TilePlan | None:
    """The cheapest tiles of a contraction whose factors come from DRAM; None if no tile fits local memory. `leaves`:
    nobody but a store reads the result. `joined`: it is wanted in one piece and therefore not cut.

    One dimension of each role is cut. Extents are looked at in the order of their prices: neighbours of what has been
    looked at have the next larger or smaller extent in one dimension.
    """
    by_role = dims_by_role(problem)
    cut = [max(dims, key=lambda d: problem.extents[d]) for dims in by_role.values() if dims]
    fixed = problem.blocks | (set(problem.result) if joined else set())
    sizes = {d: _sizes(problem.extents[d]) if d not in fixed else [problem.extents[d]] for d in cut}
    search = _Search(problem, sizes, leaves=leaves)
    while search.waiting and search.since < PATIENCE:
        search.widen()
    return search.best


class _Search:
    """Which extents have been looked at, and the best tile so far."""

    def __init__(self, problem: Contraction, sizes: Mapping[int, Sequence[int]], *, leaves: bool) -> None:
        self.problem, self.sizes, self.leaves = problem, sizes, leaves
        self.best: TilePlan | None = None
        self.since = 0
        self.seen: set[tuple[int, ...]] = set()
        self.waiting: list[tuple[float, tuple[int, ...]]] = []
        self._look_at((0,) * len(sizes))

    def widen(self) -> None:
        """Look at the neighbours of the cheapest extents of which that has not been done."""
        _, place = heappop(self.waiting)
        self.since += self.best is not None
        for number, own in enumerate(self.sizes.values()):
            for near in (place[number] - 1, place[number] + 1):
                if 0 <= near < len(own):
                    self._look_at((*place[:number], near, *place[number + 1 :]))

    def _look_at(self, place: tuple[int, ...]) -> None:
        if place in self.seen:
            return
        self.seen.add(place)
        cut = {d: own[i] for (d, own), i in zip(self.sizes.items(), place, strict=True)}
        found, price = _best_split(self.problem, cut, leaves=self.leaves)
        heappush(self.waiting, (price, place))
        if found is not None and (self.best is None or found.steps < self.best.steps):
            self.best, self.since = found, 0


def _best_split(problem: Contraction, cut: Mapping[int, int], *, leaves: bool) -> tuple[TilePlan | None, float]:
    """The cheapest tile of these extents, and its steps; a price that is lower where less is missing if none fits."""
    extents = tuple(cut.get(d, extent) for d, extent in enumerate(problem.extents))
    orders = _orders(problem, extents)
    best: TilePlan | None = None
    price = inf
    for plan, held in all_plans(replace(problem, extents=extents), partial=False, leaves=leaves):
        for order in orders:
            for kept in KEPT:
                tiles = _Tiles(problem, extents, order, plan, held, kept)
                if (missing := tiles.missing()) > 0:
                    price = min(price, DEAR * missing)
                elif best is None or tiles.steps < best.steps:
                    busy, steps = tiles.busy, tiles.steps
                    best = TilePlan(extents, order, plan, prod(tiles.counts), busy, steps)
    return best, price if best is None else best.steps


def _arrivals(plan: ContractionPlan) -> Resources:
    """What it takes to bring both factors from DRAM."""
    return arrival(plan.left) * plan.arriving(0) + arrival(plan.right) * plan.arriving(1)


def plan_whole(problem: Contraction, *, leaves: bool) -> TilePlan | None:
    """The cheapest plan of a contraction that is not cut into tiles, as `plan_tiles` counts steps; None if it does not
    fit. If the result `leaves` for DRAM, sums over the chip are left to its store."""
    best: TilePlan | None = None
    for plan, held in all_plans(problem, leaves=leaves):
        if max(layout.local_size for layout in (plan.left, plan.right, plan.result)) > half_memory():
            continue
        cut = joint_cut_of(problem, plan)
        parts = 1 if cut is None else cut.parts
        inside = kernel_resources(held, problem.precision) + _arrivals(plan)
        work = max(inside.mau, inside.alu, inside.l2bm, inside.l1bm) / EFFICIENCY + OVERHEAD * parts
        computed = max(inside.mv + work / parts, inside.mv / parts + work)
        summed = leaves and _sums_on_the_way(problem, plan)
        sums = reduction(plan.result, partial_bits(problem, plan)).in_slices if plan.partial and not summed else 0.0
        steps = computed + sums + arrival(plan.result).mv + 2 * chip().mv_latency_steps
        if best is None or steps < best.steps:
            best = TilePlan(problem.extents, tuple(range(len(problem.extents))), plan, 1, inside, steps)
    return best


def _sums_on_the_way(problem: Contraction, plan: ContractionPlan) -> bool:
    """Whether a store can add all parts of the sums: those of all L2Bs and all MABs, or of some L1Bs."""
    found = partial_bits(problem, plan)
    return all(found.get(axis, 0) in (0, chip().axis_size[axis] - 1) for axis in (Axis.L2B, Axis.MAB))


def _counts(problem: Contraction, extents: Sequence[int]) -> tuple[int, ...]:
    return tuple(ceil(whole / own) for whole, own in zip(problem.extents, extents, strict=True))


def _orders(problem: Contraction, extents: Sequence[int]) -> list[tuple[int, ...]]:
    """Orders of the dimensions in which tiles may follow each other: those that add to one result in a row, so that
    its sum is in use for as short as possible."""
    counts = _counts(problem, extents)
    moving = [d for d in problem.result if d is not None and counts[d] > 1]
    rest = tuple(d for d in range(len(extents)) if d not in moving)
    return [(*outer, *rest) for outer in permutations(moving)]


class _Tiles:
    """The tiles of a product, one after the other. `kept`: for both factors whether a tile of them stays until it was
    used for the last time."""

    def __init__(
        self,
        problem: Contraction,
        extents: Sequence[int],
        order: tuple[int, ...],
        plan: ContractionPlan,
        held: dict[str, int],
        kept: tuple[bool, bool],
    ) -> None:
        self.problem, self.plan, self.held = problem, plan, held
        self.counts = _counts(problem, extents)
        self.moving = [d for d in order if self.counts[d] > 1]
        self.factors = [
            _Factor(operand.access, layout, own)
            for operand, layout, own in zip((problem.left, problem.right), (plan.left, plan.right), kept, strict=True)
        ]

    @property
    def results(self) -> int:
        """Tiles of the result."""
        return prod(n for d, n in enumerate(self.counts) if d in self.problem.result)

    def missing(self) -> int:
        """Long words of local memory that are missing."""
        sizes = [self.plan.left.local_size, self.plan.right.local_size, self.plan.result.local_size]
        held = sum(factor.held(self.moving, self.counts) * factor.layout.local_size for factor in self.factors)
        held += sizes[2] * min(2, self.results)
        return max(0, max(sizes) - half_memory(), held - room())

    def _loads(self) -> list[tuple[int, int]]:
        """For both factors how many of their tiles arrive in all, and while the outermost index is the first."""
        return [factor.arrivals(self.moving, self.counts) for factor in self.factors]

    @cached_property
    def busy(self) -> Resources:
        """What all tiles together keep busy, the store of the result included."""
        busy = kernel_resources(self.held, self.problem.precision) * prod(self.counts)
        for (number, _), factor in zip(self._loads(), self.factors, strict=True):
            busy += arrival(factor.layout) * number
        return busy + arrival(self.plan.result) * self.results

    @cached_property
    def steps(self) -> float:
        """Steps of all tiles: factors arrive one after the other, each tile is computed when its factors and all tiles
        before are done, and leaves while others are computed and no factor arrives: DRAM has one port."""
        tiles = prod(self.counts)
        one = [arrival(factor.layout).mv for factor in self.factors]
        loads = self._loads()
        all_loads, early = (sum(own[i] * steps for own, steps in zip(loads, one, strict=True)) for i in (0, 1))
        store = arrival(self.plan.result).mv
        inside = self.busy
        work = max(inside.mau, inside.alu, inside.l2bm, inside.l1bm) / EFFICIENCY + OVERHEAD * tiles
        rounds = self.counts[self.moving[0]] if self.moving else 1
        first = max(early, sum(one) + work / rounds) + work / tiles
        computed = max(first + work - work / rounds, all_loads + store * (self.results - 1) + work / tiles)
        left = max(computed + store, first + store * self.results)
        return left + 2 * chip().mv_latency_steps


@dataclass(frozen=True)
class _Factor:
    """How a factor is indexed, where a tile of it is, and whether it stays until it was used for the last time."""

    access: Access
    layout: Layout
    kept: bool

    def held(self, moving: Sequence[int], counts: Sequence[int]) -> int:
        """Tiles of this factor that are in local memory at once, that which arrives included."""
        own = [d for d in moving if d in self.access]
        outside = next((i for i, d in enumerate(moving) if d not in self.access), len(moving))
        again = prod(counts[d] for d in moving[outside:] if d in self.access)
        if not own:
            return 1
        return min(prod(counts[d] for d in own), again + 1 if self.kept and again > 1 else 2)

    def arrivals(self, moving: Sequence[int], counts: Sequence[int]) -> tuple[int, int]:
        """How often a tile of this factor arrives, in all and while the outermost index is the first."""
        own = [d for d in moving if d in self.access]
        if not own:
            return 1, 1
        varying = own if self.kept else moving[: moving.index(own[-1]) + 1]
        number = prod(counts[d] for d in varying)
        return number, number // (counts[moving[0]] if moving[0] in varying else 1)


def tile_ranges(
    problem: Contraction, extents: Sequence[int], order: Sequence[int]
) -> Iterator[tuple[tuple[int, int], ...]]:
    """(start, size) of every tile in all dimensions, the first of `order` outermost."""
    ranges = [
        [(start, min(own, whole - start)) for start in range(0, whole, own)]
        for whole, own in zip(problem.extents, extents, strict=True)
    ]
    for choice in product(*(ranges[d] for d in order)):
        yield tuple(choice[order.index(d)] for d in range(len(extents)))


class Stages(NamedTuple):
    """Steps in which factors come from DRAM, and in which they are used; whether results are sums until the last step.
    Otherwise the first are there long before the last."""

    fetched: float
    used: float
    is_sum: bool


def stages(problem: Contraction) -> Stages | None:
    """Those of the plan of a contraction that needs least of the longer; None if nothing fits."""
    best: Stages | None = None
    for plan, held in all_plans(problem):
        cut = joint_cut_of(problem, plan)
        factors = max(plan.left.local_size, plan.right.local_size)
        if max(factors if cut is None else min(factors, cut.held), plan.result.local_size) > half_memory():
            continue
        busy = kernel_resources(held, problem.precision) + _arrivals(plan)
        found = Stages(busy.mv, max(busy.mau, busy.alu, busy.l2bm, busy.l1bm), comes_by_channels(problem, plan))
        if best is None or max(found[:2]) < max(best[:2]):
            best = found
    return best
