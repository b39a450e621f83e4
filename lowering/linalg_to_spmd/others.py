"""What the layouts of factors mean for contractions that come later.

The contraction that reads a tensor first decides where it is. A gradient is computed where the data of the layer are,
and has to come to where the weight is that it updates; both are decided long before its turn comes.
"""

from collections.abc import Callable, Iterator
from typing import Any

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.homes import Homes, untransposed
from mnc.lowering.linalg_to_spmd.reading import Generic, read_generic
from mnc.lowering.linalg_to_spmd.strides import contractions_that_read
from mnc.lowering.linalg_to_spmd.tiles import WindowedOperand, tiled_operands
from mnc.mncore_backend.distribution import Contraction, ContractionPlan
from mnc.mncore_backend.distribution.contraction import least_cost
from mnc.mncore_backend.layout import Layout

Known = Callable[[Any, Generic, dict[int, WindowedOperand]], Contraction]
"""What is known of a contraction by now."""


def price_of_others(
    generic: Generic, homes: Homes, layouts: dict[Any, Layout], known_of: Known
) -> Callable[[ContractionPlan], float] | None:
    """What other contractions that read the free factors of a contraction, or update them, pay for a plan of it, by
    rough prices; None if there are none. `known_of` looks into `layouts`: the plan's factors are put in there while a
    price is worked out."""
    free = {i: o.value for i, o in enumerate(generic.inputs) if o.access and o.value not in layouts}
    found = [op for value in free.values() for op in _others(homes, untransposed(value)[0])]
    others = [op for i, op in enumerate(found) if op != generic.op.operation and op not in found[:i]]
    if not others:
        return None
    known = [(op, own, tiled_operands(own)) for op in others for own in [read_generic(op.opview)]]

    def price(plan: ContractionPlan) -> float:
        placed = dict(untransposed(value, (plan.left, plan.right)[i]) for i, value in free.items())
        layouts.update(placed)
        try:
            return sum(least_cost(known_of(*other)) for other in known)
        finally:
            for value in placed:
                del layouts[value]

    return price


def _others(homes: Homes, value: Any) -> Iterator[Any]:
    """The contractions that read a tensor, and those whose results replace it, themselves or by way of one element-wise
    operation."""
    yield from (op for op, read in contractions_that_read(value) if read == value)
    owners = (new.owner for new in homes.values_for(value))
    made = (op for op in owners if not isinstance(op, ir.Block) and op.name == "linalg.generic")
    yield from (op for op in made if read_generic(op.opview).kind == "contraction")
