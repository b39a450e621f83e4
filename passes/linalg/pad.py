"""The pass `pad`: iteration spaces rounded up for units that take whole blocks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import arith, ir, tensor
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass, at_least
from mnc.passes.linalg.iteration import Iteration, combining_operation, named, shape_of


@dataclass(frozen=True)
class Pad(Pass):
    """Pad operands so that every loop extent is a multiple, and slice the result.

    before: a 10x7x5 contraction; after: a 16x8x8 one between `tensor.pad` and `tensor.extract_slice`

    The padding is neutral for the reduction: 0 for sums of products, -inf for a maximum. A
    reduction that first computes something from its input is refused if its own loops need padding.

    Options:
        multiples: one per loop; the last one holds for the loops that follow.
        kinds: which operations to pad.
    """

    name: ClassVar[str] = "pad"
    multiples: tuple[int, ...] = at_least(0, (8,))
    kinds: tuple[str, ...] = ("contraction",)

    def run(self, module: ir.Module) -> None:
        """Pad every matching operation that needs it."""
        with module.context, ir.Location.unknown():
            for iteration in list(named(module, self.kinds)):
                extents = self._extents(iteration)
                if extents == iteration.extents:
                    continue
                value = _padding_value(iteration, extents)
                if value is None:
                    explain(type(self).__name__, iteration.op, "no padding value is neutral for its reduction")
                else:
                    _pad(iteration, extents, value)

    def _extents(self, iteration: Iteration) -> tuple[int, ...]:
        count = len(iteration.extents)
        multiples = (self.multiples + self.multiples[-1:] * count)[:count]
        return tuple(math.ceil(e / m) * m if m else e for e, m in zip(iteration.extents, multiples, strict=True))


def _padding_value(iteration: Iteration, extents: Sequence[int]) -> float | None:
    """What to pad the inputs with, or None when nothing would be right."""
    padded = [
        loop
        for loop, parallel in enumerate(iteration.parallel)
        if not parallel and extents[loop] != iteration.extents[loop]
    ]
    if not padded:
        return 0
    # A window that grows reads its neighbours; only an index that is the loop alone runs into the padding.
    if any(all(loop not in _plain_loops(iteration, i) for i in range(iteration.inputs)) for loop in padded):
        return None
    if iteration.kind == "contraction":
        return 0
    element = ir.ShapedType(iteration.op.operands[0].type).element_type
    return _neutral(combining_operation(iteration), element)


def _plain_loops(iteration: Iteration, operand: int) -> set[int | None]:
    """Loops that index a dimension of a used operand on their own."""
    is_used = any(True for _ in iteration.op.regions[0].blocks[0].arguments[operand].uses)
    return {form.loop for form in iteration.maps[operand] or ()} if is_used else set()


def _neutral(operation: str | None, element: ir.Type) -> float | None:
    width = element.width if isinstance(element, ir.IntegerType) else 0
    return {
        "arith.addf": 0, "arith.addi": 0, "arith.ori": 0, "arith.maxui": 0, "arith.mulf": 1, "arith.muli": 1,
        "arith.maximumf": -math.inf, "arith.minimumf": math.inf, "arith.andi": -1, "arith.minui": -1,
        "arith.maxsi": -(1 << max(width - 1, 0)), "arith.minsi": (1 << max(width - 1, 0)) - 1,
    }.get(operation or "")  # fmt: skip


def _pad(iteration: Iteration, extents: Sequence[int], value: float) -> None:
    op = iteration.op
    with ir.InsertionPoint(op), op.location:
        operands = []
        for operand, forms in zip(op.operands, iteration.maps, strict=True):
            needed = [form.largest(extents) + 1 for form in forms or ()]
            operands.append(_padded(operand, needed, value))
        padded = op.clone()
        for i, operand in enumerate(operands):
            padded.operands[i] = operand
        padded.results[0].set_type(operands[-1].type)
        shape = shape_of(op.results[0])
        rank = len(shape)
        result = tensor.ExtractSliceOp(
            op.results[0].type, padded.results[0], [], [], [], [0] * rank, shape, [1] * rank
        ).result
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _padded(operand: ir.Value, needed: Sequence[int], value: float) -> ir.Value:
    if not isinstance(operand.type, ir.RankedTensorType):
        return operand
    shape = shape_of(operand)
    high = [max(0, wanted - extent) for wanted, extent in zip(needed, shape, strict=True)]
    if not any(high):
        return operand
    element = operand.type.element_type
    attribute = (
        ir.FloatAttr.get(element, float(value))
        if isinstance(element, ir.FloatType)
        else ir.IntegerAttr.get(element, int(value))
    )
    fill = arith.ConstantOp(element, attribute).result
    type_ = ir.RankedTensorType.get([extent + more for extent, more in zip(shape, high, strict=True)], element)
    op = tensor.PadOp(type_, operand, [], [], [0] * len(shape), high)
    index = ir.IndexType.get()
    block = op.regions[0].blocks.append(*[index] * len(shape), arg_locs=[op.location] * len(shape))
    with ir.InsertionPoint(block):
        tensor.YieldOp(fill)
    return op.result
