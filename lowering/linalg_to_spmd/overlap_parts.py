"""overlap-parts: functions of several products are cut in parts of their result: the factors of one arrive, and the one
before is stored, while another is computed.

before:  %s = scores(%q, %k); %p = softmax(%s); %y = product(%p, %v)              (%y is 12 heads of 512x64)
after:   %s0 = scores(%q[0:4], %k[0:4]); %p0 = softmax(%s0); %y0 = product(%p0, %v[0:4]); %s1 = ...
         %y = tensor.concat dim(1) %y0, %y1, %y2

The result is cut along one of its dimensions: heads of attention, matrices of a batch, rows. What several parts need is
reckoned to come for each of them; what that costs, and what it hides, decides.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.lowering.linalg_to_spmd.demand import needs, whole
from mnc.lowering.linalg_to_spmd.layout_attributes import IS_PART
from mnc.lowering.linalg_to_spmd.part_demands import demand_of
from mnc.lowering.linalg_to_spmd.part_prices import PartPrices, exposed
from mnc.lowering.linalg_to_spmd.part_writing import part_of, write_part
from mnc.lowering.linalg_to_spmd.reading import is_tensor, read_generic, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import LARGE
from mnc.lowering.linalg_to_spmd.slices import Ranges, equal_cuts, joined
from mnc.mncore_backend.pricing import Resources
from mnc.mncore_backend.target import chip

MOST_PARTS = 16
WORTH = 0.9
"""Share of the time without parts to which it has to fall: these are estimates."""
PRODUCTS = 2
"""Products that a function has at least: tiles of one alone are found by `tile-contractions`."""


@dataclass(frozen=True)
class OverlapParts(Pass):
    """Cut functions of products between DRAM and DRAM where that hides enough of the transfers; where something stays
    on the chip between runs, none."""

    name = "overlap-parts"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"

    def run(self, module: Any) -> None:
        """Rewrite every function of the module."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                if self.resident == "nothing":
                    _cut(function.operation.regions[0].blocks[0])


def _cut(block: Any) -> None:
    """Compute the result of a function in parts, if that pays."""
    returned = list(list(block.operations)[-1].operation.operands)
    if len(returned) != 1 or not is_tensor(returned[0]) or prod(shape_of(returned[0])) < LARGE:
        return
    result = returned[0]
    if isinstance(result.owner, ir.Block) or not _has_products(block):
        return
    prices, demand = PartPrices(), demand_of([(result, whole(result))])
    if demand is None or not prices.known(demand):
        return
    before = _steps(prices, result, [whole(result)])
    if before is None:
        return
    choices = [(_steps(prices, result, boxes), boxes) for boxes in equal_cuts(shape_of(result), MOST_PARTS)]
    found = [(steps, boxes) for steps, boxes in choices if steps is not None and steps <= WORTH * before]
    if found:
        _write(block, result, min(found)[1])


def _has_products(block: Any) -> bool:
    """Whether a function has several products of matrices."""
    generics = [read_generic(op) for op in block.operations if op.operation.name == "linalg.generic"]
    return sum(own.kind == "contraction" for own in generics) >= PRODUCTS


def _steps(prices: PartPrices, result: Any, boxes: list[Ranges]) -> float | None:
    """Steps until equal parts of a result have been stored; None if that cannot be said in boxes."""
    demand = demand_of([(result, boxes[0])])
    if demand is None:
        return None
    busy = prices.busy(demand)
    units = Resources(mau=busy.mau, alu=busy.alu, l2bm=busy.l2bm, l1bm=busy.l1bm)
    # The first has to come before anything is computed, and the last leaves when all is.
    hidden = max(len(boxes) * exposed(units), (len(boxes) - 1) * busy.mv)
    return busy.mv + hidden + chip().mv_latency_steps * (len(boxes) - 1)


def _write(block: Any, result: Any, boxes: list[Ranges]) -> None:
    made: dict[tuple[Any, Ranges], Any] = {}
    with ir.InsertionPoint(result.owner), result.owner.location:
        parts = {box: _make(made, result, box, is_later=number > 0) for number, box in enumerate(boxes)}
        total = joined(result.type, parts)
    result.replace_all_uses_with(total)
    for op in reversed([op.operation for op in block.operations]):
        if op.results and op.name != "func.return" and not any(list(own.uses) for own in op.results):
            op.erase()


def _make(made: dict[tuple[Any, Ranges], Any], value: Any, box: Ranges, *, is_later: bool) -> Any:
    """A part of a value: what is the same for all parts is made once, arguments are cut. Factors of later parts arrive
    while the one before is computed: their products need no parts of their own for that."""
    key = value, box
    if not is_tensor(value) or box == whole(value):
        return value
    if key not in made:
        if isinstance(value.owner, ir.Block) or (parts := needs(value.owner, box)) is None:
            made[key] = part_of(value, box)
        else:
            pairs = zip(value.owner.operands, parts, strict=False)
            operands = [_make(made, v, part, is_later=is_later) for v, part in pairs]
            with value.owner.location:
                made[key] = write_part(value.owner, operands, box)
            if is_later and made[key].owner.name == "linalg.generic":
                made[key].owner.attributes[IS_PART] = ir.UnitAttr.get()
    return made[key]
