"""split-contractions: products with constants whose results do not fit local memory become several, one by one.

before:  %y = linalg.generic {multiply-add} ins(%x, %w : tensor<1x9216xf32>, tensor<4096x9216xf32>)
after:   %y0 = linalg.generic {multiply-add} ins(%x, %w0 : tensor<1x9216xf32>, tensor<456x9216xf32>)
         ...
         %y = tensor.concat dim(1) %y0, %y1, ...

The results come piece by piece, each with its own part of the constant. A constant that is too large for local memory
is no reason to cut: it comes in parts anyway (see `streaming`). Constant tables that are read at computed indices are
cut where they are too large.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import arith, ir, tensor
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.graph.attributes import to_numpy
from mnc.lowering.linalg_to_spmd.computed_reads import CHOSEN
from mnc.lowering.linalg_to_spmd.factors import factor_of
from mnc.lowering.linalg_to_spmd.reading import Generic, Input, read_generic, shape_of, splat_value
from mnc.lowering.linalg_to_spmd.split_tables import pieces_of_table, read_in_pieces
from mnc.lowering.linalg_to_spmd.tiles import tiled_operands
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan, plan_contraction
from mnc.mncore_backend.placement.candidates.costs import arrival_steps
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.candidates.space import LANE_COUNT
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import chip

PART = 8
"""Part of all local memory that one constant table may take."""


def local_words() -> int:
    """32-bit words of local memory on the chip."""
    return int(np.prod(list(chip().axis_size.values()))) * sum(chip().memories[memory].longs for memory in LOCAL_MEMORY)


def local_longs() -> int:
    """Long words of a PE that the factors and results of a product may take together, and half of it each: movements
    need a quarter of an LM beside them."""
    return sum(chip().memories[memory].longs * 3 // 4 for memory in LOCAL_MEMORY)


def _constant_of(value: Any) -> Any | None:
    """The operation that makes a constant tensor with different elements."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return owner if isinstance(owner.attributes["value"], ir.DenseElementsAttr) else None


@dataclass(frozen=True)
class _Cut:
    """Along which dimension a product is cut: of the iteration space, of the constant operand and of the result."""

    number: int
    constant_dim: int
    result_dim: int
    extent: int
    pieces: int

    def ranges(self) -> Iterator[tuple[int, int]]:
        size = -(-self.extent // self.pieces)
        size = -(-size // LANE_COUNT) * LANE_COUNT
        for start in range(0, self.extent, size):
            yield start, min(size, self.extent - start)


def _plan(generic: Generic, extents: Sequence[int]) -> ContractionPlan:
    """How a contraction would be done with these extents, if its factors were free."""
    tiled = tiled_operands(generic)
    left, right = (factor_of(operand, tiled.get(i)) for i, operand in enumerate(generic.inputs))
    return plan_contraction(Contraction(tuple(extents), left, right, generic.result, precision="pseudo-single"))


def _fits(plan: ContractionPlan, constant: int, longs: int) -> bool:
    """Whether factors and results, and sums of partial results, fit local memory. The constant comes in parts."""
    sizes = [plan.left.local_size, plan.right.local_size, plan.result.local_size]
    sizes[constant] = min(sizes[constant], half_memory(), longs // 2)
    sums = plan.result.local_size if plan.partial else 0
    return max(sizes) <= longs // 2 and sum(sizes) + sums <= longs


def _pieces_that_fit(generic: Generic, dim: int, constant: int, longs: int) -> int:
    """How many pieces of a dimension it takes; one, if none are small enough.

    Where the whole does not fit, the cheapest number is taken: the other factor comes once, all else piece by piece.
    """
    extents, tried = list(generic.extents), 1
    prices: dict[int, float] = {}
    while True:
        extents[dim] = -(-generic.extents[dim] // tried)
        plan = _plan(generic, extents)
        once = arrival_steps(plan.left)
        if _fits(plan, constant, longs):
            prices[tried] = once + tried * (plan.cost - once)
            if tried == 1:
                return 1
        if extents[dim] <= LANE_COUNT:
            return min(prices, key=lambda count: prices[count], default=1)
        tried *= 2


def _own_dims(generic: Generic, operand: Input) -> list[int]:
    """Dimensions that an operand has in common with the result only."""
    others = {d for other in generic.inputs if other is not operand for d in other.dims}
    return [d for d in operand.access or () if d is not None and d in generic.result and d not in others]


def _cut(generic: Generic, longs: int) -> _Cut | None:
    """How to cut a product; None if it is small enough or no dimension is that of a constant and the result alone."""
    for number, operand in enumerate(generic.inputs):
        own = _own_dims(generic, operand)
        if operand.access is None or not own or _constant_of(operand.value) is None:
            continue
        d = max(own, key=lambda d: generic.extents[d])
        pieces = _pieces_that_fit(generic, d, number, longs)
        if pieces > 1:
            places = operand.access.index(d), generic.result.index(d)
            return _Cut(number, *places, generic.extents[d], pieces)
    return None


def _part_of_constant(op: Any, dim: int, start: int, size: int) -> Any:
    array = np.take(to_numpy(op.attributes["value"]), range(start, start + size), axis=dim)
    type_ = ir.RankedTensorType.get(list(array.shape), ir.RankedTensorType(op.results[0].type).element_type)
    made = arith.ConstantOp(type_, ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=type_))
    if "onnx.name" in op.attributes:
        name = ir.StringAttr(op.attributes["onnx.name"]).value
        made.operation.attributes["onnx.name"] = ir.StringAttr.get(f"{name}[{start}:{start + size}]")
    return made.result


def _part_of_start(value: Any, dim: int, start: int, size: int) -> Any:
    """The part of the tensor that a product accumulates onto."""
    shape = list(shape_of(value))
    shape[dim] = size
    type_ = ir.RankedTensorType.get(shape, ir.RankedTensorType(value.type).element_type)
    splat = splat_value(value)
    if splat is not None:
        return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, splat)).result
    offsets = [start if i == dim else 0 for i in range(len(shape))]
    return tensor.ExtractSliceOp(type_, value, [], [], [], offsets, shape, [1] * len(shape)).result


def _pieces(op: Any, generic: Generic, cut: _Cut) -> Iterator[Any]:
    """The results of the smaller products."""
    operand = generic.inputs[cut.number].value
    number = list(op.operands).index(operand)
    constant = operand.owner
    for start, size in cut.ranges():
        part = _part_of_constant(constant, cut.constant_dim, start, size)
        accumulated = _part_of_start(generic.init, cut.result_dim, start, size)
        made = op.clone()
        made.operands[number] = part
        made.operands[len(op.operands) - 1] = accumulated
        made.results[0].set_type(accumulated.type)
        yield made.results[0]


@dataclass(frozen=True)
class SplitContractions(Pass):
    """Cut products with constants whose results are too large for local memory into several.

    What a product needs in a PE may have ``longs`` long words, a table that is read at computed indices ``words``
    elements on the chip; 0: what the machine has room for.
    """

    name = "split-contractions"
    words: int = at_least(0, 0)
    longs: int = at_least(0, 0)

    def run(self, module: Any) -> None:
        """Rewrite every function of the module."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                for view in list(function.operation.regions[0].blocks[0].operations):
                    if view.operation.name == "linalg.generic":
                        self._rewrite(view.operation)

    def _read_in_pieces(self, op: Any) -> None:
        """Cut the constant table of a read at computed indices."""
        constant = _constant_of(op.operands[0])
        cut = pieces_of_table(op, self.words or local_words() // PART)
        if constant is None or cut is None:
            return
        number, dim, ranges = cut
        with ir.InsertionPoint(op), op.location:
            parts = [_part_of_constant(constant, dim, start, size) for start, size in ranges]
            total = read_in_pieces(op, number, ranges, parts)
        op.results[0].replace_all_uses_with(total)
        op.erase()
        if not list(constant.results[0].uses):
            constant.erase()

    def _rewrite(self, op: Any) -> None:
        if CHOSEN in op.attributes:
            self._read_in_pieces(op)
            return
        generic = read_generic(op.opview)
        cut = _cut(generic, self.longs or local_longs()) if generic.kind == "contraction" else None
        if cut is None:
            return
        constant = generic.inputs[cut.number].value
        with ir.InsertionPoint(op), op.location:
            pieces = list(_pieces(op, generic, cut))
            joined = tensor.ConcatOp(op.results[0].type, cut.result_dim, pieces).result
        op.results[0].replace_all_uses_with(joined)
        op.erase()
        if not list(constant.uses):
            constant.owner.erase()
