"""tile-regions: chains of operations on tensors that are too large for local memory are done part by part.

before:  %s = scores(%q, %k); %p = softmax(%s); %y = product(%p, %v)      (%s has 50 million elements)
after:   %s0 = scores(%q[0], %k[0]); %p0 = softmax(%s0); %y0 = product(%p0, %v[0]); %s1 = ...
         %y = tensor.concat dim(1) %y0, %y1, ...

The last operation of a chain is cut along one dimension of its result, and what each part needs is computed for it
alone: images of a batch, heads of attention, rows of an image with the neighbours that windows reach. Which dimension
is cut is a matter of price: how much is computed twice, and how many parts it takes.
"""

from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.lowering.linalg_to_spmd.demand import PARTABLE, needs, whole
from mnc.lowering.linalg_to_spmd.part_writing import part_of, write_part
from mnc.lowering.linalg_to_spmd.reading import read_generic, shape_of, splat_value
from mnc.lowering.linalg_to_spmd.slices import Ranges, joined
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.candidates.space import LANE_COUNT
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import chip


def _words() -> int:
    """Words of all local memory."""
    return prod(chip().axis_size.values()) * sum(chip().memories[memory].longs for memory in LOCAL_MEMORY)


MOST_PARTS = 64
"""Elements of a constant from which it is not kept in every MAB."""
SHORT = 3
"""Operations between two large ones that belong to the chain."""
BESIDE = 3
"""How many times smaller an operation beside a large one may be that is done part by part with it: to join its parts on
the chip, and to take parts of the whole again, costs more than what they compute twice."""
EACH_PART = 0.02
"""Price of one more part, as a share of the work: latencies, and weights that are fetched again."""


@dataclass(frozen=True)
class TileRegions(Pass):
    """Cut chains of operations of which one takes more than ``percent`` of local memory."""

    name = "tile-regions"
    percent: int = at_least(0, 36)

    def run(self, module: Any) -> None:
        """Rewrite every function of the module."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                _Region(function.operation, _words() * self.percent // 100).run()


def _elements(value: Any) -> int:
    return prod(shape_of(value))


def _held(op: Any) -> list[Any]:
    """The tensors that an operation needs on the chip: weights come in parts, and what is alike takes no room."""
    operands = [v for v in op.operands if isinstance(v.type, ir.RankedTensorType)]
    moving = [v for v in operands if isinstance(v.owner, ir.Block) or v.owner.name not in _NO_ROOM]
    return [*dict.fromkeys(moving), op.results[0]]


def _filled(size: int) -> float:
    """Share of the L2Bs that have work if they share out a dimension of this extent."""
    l2bs = chip().axis_size[Axis.L2B]
    return size / (ceil(size / l2bs) * l2bs)


def rounded(size: int) -> int:
    """Up to a number with few factors but two: parts fill the places of the chip, which come in powers of two."""
    granule = 1 << max(0, size.bit_length() - 3)
    return ceil(size / granule) * granule


class _Region:
    """The operations of a function, and those that are too large."""

    def __init__(self, function: Any, most: int) -> None:
        self.block = function.regions[0].blocks[0]
        self.most = most
        self.operations = [op.operation for op in self.block.operations]
        self.large = {op.results[0] for op in self.operations if self._is_large(op, most)}
        self.large |= self._between()
        self._take_neighbours()
        self.made: dict[tuple[Any, Ranges], Any] = {}

    def _between(self) -> set[Any]:
        """Small results on short ways from one large operation to another, as the maximum and the sum of a softmax:
        were they made as a whole, all parts of what they are made from would have to be there at once."""
        after: dict[Any, int] = dict.fromkeys(self.large, 0)
        for op in self.operations:
            steps = [after[v] for v in op.operands if v in after]
            if len(op.results) == 1 and steps and min(steps) < SHORT:
                after.setdefault(op.results[0], min(steps) + 1)
        before: dict[Any, int] = dict.fromkeys(self.large, 0)
        for op in reversed(self.operations):
            for value in op.operands if len(op.results) == 1 and op.results[0] in before else ():
                steps = before[op.results[0]] + 1
                if steps <= SHORT:
                    before[value] = min(before.get(value, steps), steps)
        return {v for v in after if v in before and v.owner.name in PARTABLE}

    def _take_neighbours(self) -> None:
        """Add what is smaller, but not small, and makes or reads what is large."""
        medium = {op.results[0] for op in self.operations if self._is_large(op, self.most // BESIDE)} - self.large
        medium = {value for value in medium if value.owner.name in PARTABLE}
        waiting = list(self.large)
        while waiting:
            value = waiting.pop()
            beside = {*value.owner.operands, *(r for use in value.uses for r in use.owner.operation.results)}
            found = {other for other in medium if other in beside}
            medium -= found
            self.large |= found
            waiting += found

    @staticmethod
    def _is_large(op: Any, most: int) -> bool:
        if len(op.results) != 1 or not isinstance(op.results[0].type, ir.RankedTensorType):
            return False
        if op.name in ("arith.constant", "tensor.empty", "linalg.fill") or splat_value(op.results[0]) is not None:
            return False
        return sum(_elements(v) for v in _held(op)) > most

    def run(self) -> None:
        for op in self.operations:  # parts that are made for one end serve those behind it
            if op.results and op.results[0] in self.large and self._is_end(op):
                self._tile(op)
        for op in reversed([op.operation for op in self.block.operations]):
            if op.results and op.name != "func.return" and not any(list(r.uses) for r in op.results):
                op.erase()

    def _is_end(self, op: Any) -> bool:
        """Whether nobody continues with the result of a large operation part by part. Products of what is in DRAM have
        tiles of their own."""
        users = [use.owner.operation for use in op.results[0].uses]
        if not users or any(user.results and user.results[0] in self.large for user in users):
            return False
        if op.name != "linalg.generic" or read_generic(op.opview).kind != "contraction":
            return True
        return any(not isinstance(v.owner, ir.Block) and v.owner.name not in _NO_ROOM for v in op.operands)

    def _tile(self, op: Any) -> None:
        result = op.results[0]
        choices = self._choices(result)
        if not choices and self._separate(op):
            choices = self._choices(result)
        if not choices:
            return
        _, boxes = min(choices, key=lambda choice: choice[0])
        with ir.InsertionPoint(op), op.location:
            parts = {box: self._make(result, box) for box in boxes}
            total = joined(result.type, parts)
        result.replace_all_uses_with(total)

    def _choices(self, result: Any) -> list[tuple[float, list[Ranges]]]:
        dims = range(len(shape_of(result)))
        return [choice for d in dims if (choice := self._cheapest(result, d)) is not None]

    def _separate(self, op: Any) -> bool:
        """Have what all parts of an operation need whole made before it, as the second factor of a product whose rows
        are parts. Whether there is such."""
        found = [v for v in dict.fromkeys(op.operands) if v in self.large and self._is_needed_whole(op, v)]
        for value in found:
            self.large.discard(value)
            large = [value] if self._is_large(value.owner, self.most) else value.owner.operands
            for end in [v for v in large if v == value or v in self.large]:
                self.large.add(end)
                if self._is_end(end.owner):
                    self._tile(end.owner)
                self.large.discard(end)
        return bool(found)

    @staticmethod
    def _is_needed_whole(op: Any, value: Any) -> bool:
        """Whether any half of the result needs a whole operand."""
        ranges = whole(op.results[0])
        halves = [(*ranges[:d], (0, n // 2), *ranges[d + 1 :]) for d, (_, n) in enumerate(ranges) if n > 1]
        parts = [needs(op, half) for half in halves]
        return any(
            part is not None and any(v == value and own == whole(v) for v, own in zip(op.operands, part, strict=False))
            for part in parts
        )

    def _cheapest(self, result: Any, dim: int) -> tuple[float, list[Ranges]] | None:
        """The smallest number of parts along a dimension that are small enough, and its price."""
        extent = shape_of(result)[dim]
        once = self._work(result, whole(result), {})
        previous = 0
        for count in range(2, min(extent, MOST_PARTS) + 1):
            size = rounded(ceil(extent / count))
            if size >= (previous or extent):
                continue
            previous = size
            boxes = [
                tuple((start, min(size, extent - start)) if d == dim else own for d, own in enumerate(whole(result)))
                for start in range(0, extent, size)
            ]
            works = [self._work(result, box, {}) for box in (boxes[0], boxes[len(boxes) // 2], boxes[-1])]
            if once is not None and all(work is not None and work[1] <= self.most for work in works):
                total = sum(work[0] for work in works if work is not None) / 3 * len(boxes)
                return (total / once[0] + EACH_PART * len(boxes)) / _filled(size), boxes
        return None

    def _work(self, value: Any, box: Ranges, seen: dict[Any, tuple[int, int]]) -> tuple[int, int] | None:
        """Elements that are computed for a part, and those of the largest operation among them; None if a large
        operation cannot be done in parts."""
        key = value, box
        if value not in self.large or key in seen:
            return (0, 0)
        seen[key] = (0, 0)
        parts = needs(value.owner, box)
        if parts is None:
            return None
        held = _held(value.owner)
        own = prod(size for _, size in box)
        sizes = {v: prod(size for _, size in part) for v, part in zip(value.owner.operands, parts, strict=False)}
        here = own + sum(size for v, size in sizes.items() if v in held)
        total, largest = own, here
        for operand, part in zip(value.owner.operands, parts, strict=False):
            below = self._work(operand, part, seen)
            if below is None:
                return None
            total, largest = total + below[0], max(largest, below[1])
        return total, largest

    def _make(self, value: Any, box: Ranges) -> Any:
        """A part of a value: of a large one it is computed for itself, others are cut."""
        if box == whole(value) and value not in self.large:
            is_weight = not isinstance(value.owner, ir.Block) and value.owner.name == "arith.constant"
            # One that a MAB cannot hold comes in pieces to each product, which is its only reader then.
            is_large = is_weight and _elements(value) > half_memory() * LANE_COUNT
            return value.owner.clone().results[0] if is_large else value
        if value not in self.large:
            return part_of(value, box)
        key = value, box
        if key not in self.made:
            op = value.owner
            parts = needs(op, box)
            assert parts is not None  # `_work` has asked
            operands = [self._make(v, part) for v, part in zip(op.operands, parts, strict=False)]
            with op.location:
                self.made[key] = write_part(op, operands, box)
        return self.made[key]


_NO_ROOM = ("arith.constant", "tensor.empty", "linalg.fill")
