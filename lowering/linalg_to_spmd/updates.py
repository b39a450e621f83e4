"""What the layouts of factors that stay on the chip mean for the sums that update them.

Where a weight is, its gradient has to come to, and the gradient is computed where the other factor is: both are decided
by the contraction that reads them first, long before the gradient's turn comes.
"""

from collections.abc import Callable, Iterator
from typing import Any

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.homes import Homes
from mnc.lowering.linalg_to_spmd.reading import Generic, is_transposition, read_generic, transposition_order
from mnc.lowering.linalg_to_spmd.tiles import WindowedOperand, tiled_operands
from mnc.mncore_backend.distribution import Contraction, ContractionPlan, plan_contraction
from mnc.mncore_backend.layout import Layout, permute

Known = Callable[[Any, Generic, dict[int, WindowedOperand]], Contraction]
"""What is known of a contraction by now."""


def price_of_updates(
    generic: Generic, homes: Homes, layouts: dict[Any, Layout], known_of: Known
) -> Callable[[ContractionPlan], float] | None:
    """What the contractions that compute the next values of a contraction's factors pay for a plan of it, by rough
    prices; None if no factor is kept and still free. `known_of` looks into `layouts`: the plan's factors are put in
    there while a price is worked out."""
    free = {i: o.value for i, o in enumerate(generic.inputs) if o.access and o.value not in layouts}
    updates = [found for value in free.values() for found in _updates(homes, _root(value, None)[0])]
    if not updates:
        return None

    def price(plan: ContractionPlan) -> float:
        placed = dict(_root(value, (plan.left, plan.right)[i]) for i, value in free.items())
        layouts.update(placed)
        try:
            return sum(plan_contraction(known_of(*update)).cost for update in updates)
        finally:
            for value in placed:
                del layouts[value]

    return price


def _updates(homes: Homes, argument: Any) -> Iterator[tuple[Any, Generic, dict[int, WindowedOperand]]]:
    """The contractions whose results replace an argument, themselves or by way of one element-wise operation."""
    for value in homes.values_for(argument):
        if not isinstance(value.owner, ir.Block) and value.owner.name == "linalg.generic":
            generic = read_generic(value.owner.opview)
            if generic.kind == "contraction":
                yield value.owner, generic, tiled_operands(generic)


def _root(value: Any, layout: Any) -> tuple[Any, Any]:
    """What transpositions make `value` of, and how it lies if `value` has a layout."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == "linalg.generic":
        generic = read_generic(value.owner.opview)
        if not is_transposition(generic):
            break
        order = transposition_order(generic)
        layout = None if layout is None else permute(layout, [order.index(i) for i in range(len(order))])
        value = generic.inputs[0].value
    return value, layout
