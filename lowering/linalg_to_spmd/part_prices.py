"""How long a part of a function keeps the units of the chip busy: its arithmetic and its transfers at the peak of the
machine, and what its products take where they are done best.

A part that is too small for the chip has to be copied to many places: the keys of one head go to every PE that has
some of its rows. So products are planned as in `placement`, with factors from DRAM where they come from there.
"""

from math import prod
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.lowering.linalg_to_spmd.demand import iteration_ranges
from mnc.lowering.linalg_to_spmd.factors import factor_of, iteration_access
from mnc.lowering.linalg_to_spmd.part_demands import Demand, loaded_per_step, needed
from mnc.lowering.linalg_to_spmd.reading import Generic, read_generic
from mnc.lowering.linalg_to_spmd.rearranging import RESHAPES
from mnc.lowering.linalg_to_spmd.slices import Ranges
from mnc.lowering.linalg_to_spmd.tiles import tiled_operands
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan
from mnc.mncore_backend.placement.candidates.candidates import partial_bits, possible_plans
from mnc.mncore_backend.placement.candidates.costs import kernel_resources, relayout_steps
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.cost.product_prices import TOO_LARGE
from mnc.mncore_backend.pricing import Resources, arrival, reduction
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

EXPOSED = 0.3
"""Share of what other units do that the busiest one does not hide."""


def exposed(busy: Resources) -> float:
    """Steps of work that keeps units busy for so long."""
    return busy.bound + EXPOSED * (busy.total - busy.bound)


class PartPrices:
    """What parts keep busy; what was found out about products is remembered."""

    def __init__(self) -> None:
        self._best: dict[tuple[Contraction, Layout | None], tuple[Resources, float, Layout]] = {}

    def busy(self, demand: Demand) -> Resources:
        """Steps for which a part keeps each unit busy."""
        return self._planned(demand, follow=False)[0]

    def in_turn(self, demand: Demand) -> tuple[Resources, float]:
        """The same where products read what others make, and steps for which that moves to where it is wanted."""
        return self._planned(demand, follow=True)

    def _planned(self, demand: Demand, *, follow: bool) -> tuple[Resources, float]:
        found = Resources(mau=demand.steps, mv=demand.loaded / loaded_per_step())
        moved, places = 0.0, dict[tuple[Any, Ranges], Layout]()
        for value, box in reversed(demand.boxes):
            generic = _product(value)
            ranges = None if generic is None else iteration_ranges(value.owner, box)
            if generic is None or ranges is None:
                places |= _same_place(value, box, places) if follow else {}
                continue
            extents = tuple(size for _, size in ranges)
            # A factor that is made on the chip is kept there: it does not arrive.
            left, right = (factor_of(own, None, kept=not _is_from_dram(own.value)) for own in generic.inputs)
            read = needed(value.owner, box).values() if follow else ()
            held = next((places[own] for own in read if own in places), None)
            more, move, places[value, box] = self._beyond_peak(Contraction(extents, left, right, generic.result), held)
            found, moved = found + more, moved + move
        return found, moved

    def size(self, demand: Demand) -> float:
        """Steps that a program for a part will have, roughly: as many as its units are busy, if that is `known`."""
        busy = self.busy(demand)
        return busy.total - busy.mv - busy.latency if self.known(demand) else demand.size

    @staticmethod
    def known(demand: Demand) -> bool:
        """Whether products with a batch are all the products there are: others get tiles of their own, or windows."""
        products = _products(demand)
        return bool(products) and all(map(_has_batch, products))

    @staticmethod
    def is_chain(demand: Demand) -> bool:
        """Whether there are several products, and none reads through windows: one alone gets tiles of its own."""
        return len(_products(demand)) > 1

    def _beyond_peak(self, problem: Contraction, held: Layout | None) -> tuple[Resources, float, Layout]:
        """What the best plan of a product keeps busy beyond the peak of matrix units and DRAM; steps until its left
        factor has come from where it is `held`; and where its result is."""
        if (problem, held) not in self._best:
            plans = (
                (_resources(problem, plan, counts), _moved(held, plan.left), plan.result)
                for plan, counts in possible_plans(problem)
            )
            self._best[problem, held] = min(plans, key=lambda own: exposed(own[0]) + own[1])
        return self._best[problem, held]


def _moved(held: Layout | None, wanted: Layout) -> float:
    return 0.0 if held is None or held.shape != wanted.shape else relayout_steps(held, wanted)


def _same_place(value: Any, box: Ranges, places: dict[tuple[Any, Ranges], Layout]) -> dict[tuple[Any, Ranges], Layout]:
    """Where the result of element-wise work is: where that of a product is, of the same shape."""
    if isinstance(value.owner, ir.Block) or value.owner.name != "linalg.generic":
        return {}
    shape = tuple(size for _, size in box)
    found = (places[own] for own in needed(value.owner, box).values() if own in places)
    place = next((own for own in found if own.shape == shape), None)
    return {} if place is None else {(value, box): place}


def _resources(problem: Contraction, plan: ContractionPlan, counts: dict[str, int]) -> Resources:
    kernel = kernel_resources(counts, problem.precision)
    peak = prod(problem.extents) / (chip().peak_multiply_adds(problem.precision) * CYCLES_PER_STEP)
    held = [layout for o, layout in ((problem.left, plan.left), (problem.right, plan.right)) if not o.in_parts]
    missing = TOO_LARGE * sum(max(0, layout.local_size - half_memory()) for layout in (*held, plan.result))
    busy = Resources(mau=max(0.0, kernel.mau - peak), alu=kernel.alu, latency=missing)
    if plan.partial:
        busy += reduction(plan.result, partial_bits(problem, plan))
    for operand, layout in ((problem.left, plan.left), (problem.right, plan.right)):
        if not operand.kept:
            coming = arrival(layout)
            shared = max(0.0, coming.mv - prod(layout.shape) / loaded_per_step())
            busy += Resources(mv=shared, l2bm=coming.l2bm, l1bm=coming.l1bm)
    return busy


def _products(demand: Demand) -> list[Generic]:
    """The products of a part; none if anything reads through windows, or is in another form."""
    owners = [value.owner for value, _ in demand.boxes if not isinstance(value.owner, ir.Block)]
    read = [_generic(owner) for owner in owners if owner.name == "linalg.generic"]
    generics = [own for own in read if own is not None and not tiled_operands(own)]
    return [own for own in generics if own.kind == "contraction"] if len(generics) == len(read) else []


def _has_batch(product: Generic) -> bool:
    """Whether a dimension counts matrices."""
    left, right = (iteration_access(own) for own in product.inputs)
    dims = set(left) & set(right) & set(product.result) - {None}
    return any(product.extents[d] > 1 for d in dims if d is not None)


def _product(value: Any) -> Generic | None:
    """The operation that makes a value, if it is a product of matrices."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "linalg.generic":
        return None
    generic = _generic(owner)
    return generic if generic is not None and generic.kind == "contraction" and not tiled_operands(generic) else None


def _generic(op: Any) -> Generic | None:
    """A generic operation, read; None if it is not in a form for that yet."""
    try:
        return read_generic(op.opview)
    except CompileError:
        return None


def _is_from_dram(value: Any) -> bool:
    """Whether element-wise work and views make a value of arguments and constants: it arrives where it is wanted."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name == "arith.constant":
        return True
    if owner.name == "linalg.generic":
        generic = _generic(owner)
        if generic is None or generic.kind not in ("pointwise", "view"):
            return False
        return all(_is_from_dram(own.value) for own in generic.inputs)
    return owner.name in RESHAPES and _is_from_dram(owner.operands[0])
