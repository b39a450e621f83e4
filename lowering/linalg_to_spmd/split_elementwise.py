"""split-elementwise: element-wise work that needs more intermediate results at once than registers hold is split.

before:  %y = linalg.generic {h1 = f(x); ...; h99 = f(h98); g99 = h99 - h98; ...; g1 = g2 - h1}
after:   %h1 = linalg.generic {f(x)}, ..., %y = linalg.generic {...; h98 = f(%h60); ...; g1 = g2 - %h1}

Fusion makes one operation of all that is computed element by element, however long. Where more values are waiting than
there are registers for, those that are wanted last become tensors. So does what two of the parts would both compute.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir, tensor
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.lowering.linalg_to_spmd.computed_reads import CHOSEN
from mnc.lowering.linalg_to_spmd.rewriting import Building, copy_operation, dims_map, make_generic, read_building
from mnc.mncore_backend.kernels.vector.emit import register_budget
from mnc.mncore_backend.placement.candidates.space import LANE_COUNT

FREE = ("arith.constant", "linalg.index")
"""Operations that are done again wherever their result is wanted."""


def most_live() -> int:
    """Values that may wait for their use: as many as one register file has room for. The other one is for what the
    machine computes on the way to a result, as for a logarithm."""
    return register_budget() // LANE_COUNT


@dataclass(frozen=True)
class SplitElementwise(Pass):
    """Split element-wise work in which more than `live` values wait for their use; 0: than registers have room for."""

    name = "split-elementwise"
    live: int = at_least(0, 0)

    def run(self, module: Any) -> None:
        """Rewrite every function of the module."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                for op in list(function.operation.regions[0].blocks[0].operations):
                    if op.operation.name == "linalg.generic":
                        _split(op.operation, self.live or most_live())


def tensors_of(uses: Sequence[Sequence[int]], movable: Sequence[bool], free: Sequence[bool], limit: int) -> set[int]:
    """Which of the values of a body become tensors so that at most `limit` others wait at any time.

    Args:
        uses: for each value the numbers of those that are computed with it; the result of the body is the last value.
        movable: whether a value can become a tensor.
        free: whether it is made again wherever it is wanted.
        limit: values that may wait.
    """
    chosen: set[int] = set()
    waiting: set[int] = set()
    for number in range(len(uses)):
        waiting = {value for value in waiting if max(uses[value]) > number}
        if uses[number] and not free[number]:
            waiting.add(number)
        while len(waiting) > limit and any(movable[value] for value in waiting):
            last = max(
                (value for value in waiting if movable[value]),
                key=lambda value: min(use for use in uses[value] if use > number),
            )
            chosen.add(last)
            waiting.remove(last)
    return _with_shared(uses, movable, free, chosen) if chosen else chosen


def _with_shared(
    uses: Sequence[Sequence[int]], movable: Sequence[bool], free: Sequence[bool], chosen: Collection[int]
) -> set[int]:
    """The chosen values, and those that several parts would compute."""
    found = set(chosen)
    parts: list[set[int]] = [set() for _ in uses]  # those which need a value, by the numbers of their results
    for number in reversed(range(len(uses))):
        parts[number] = {part for use in uses[number] for part in ({use} if use in found else parts[use])}
        parts[number] |= {number} if not uses[number] else set()
        if len(parts[number]) > 1 and movable[number] and not free[number]:
            found.add(number)
    return found


def _split(op: Any, limit: int) -> None:
    inner = [own.operation for own in op.regions[0].blocks[0].operations]
    if len(inner) <= limit or CHOSEN in op.attributes or len(op.results) != 1:
        return
    body = _Body(read_building(op), inner)
    chosen = tensors_of(body.uses, body.movable, body.free, limit)
    if chosen:
        _write(op, body, sorted(chosen))


class _Body:
    """The operations of a body as plain numbers; the last is the one that yields."""

    def __init__(self, source: Building, inner: list[Any]) -> None:
        self.source, self.inner = source, inner
        numbers = {result: i for i, own in enumerate(inner) for result in own.results}
        self.operands = [[numbers[v] for v in own.operands if v in numbers] for own in inner]
        self.uses: list[list[int]] = [[] for _ in inner]
        for number, operands in enumerate(self.operands):
            for operand in operands:
                self.uses[operand].append(number)
        self.free = [own.name in FREE for own in inner]
        self.movable = [self._is_movable(own) for own in inner]
        start = source.block.arguments[len(source.inputs)]
        for number, own in enumerate(inner):  # what has to do with the sum so far is no tensor
            behind = any(not self.movable[i] and not self.free[i] for i in self.operands[number])
            self.movable[number] &= not behind and start not in list(own.operands)

    @staticmethod
    def _is_movable(own: Any) -> bool:
        return len(own.results) == 1 and isinstance(own.results[0].type, ir.FloatType | ir.IntegerType)

    def needed(self, number: int, given: Collection[int]) -> list[int]:
        """The operations that compute a value, in order, if those of `given` are there already."""
        found, left = {number}, [number]
        while left:
            for operand in self.operands[left.pop()]:
                if operand not in found and operand not in given:
                    found.add(operand)
                    left.append(operand)
        return sorted(found)


def _write(op: Any, body: _Body, chosen: Sequence[int]) -> None:
    """Write the parts in place of the whole."""
    made: dict[int, Any] = {}
    every = range(body.source.rank)
    for number in chosen:
        with ir.InsertionPoint(op), ir.Location.fused([body.inner[i].location for i in body.needed(number, made)]):
            init = tensor.EmptyOp(list(body.source.extents), body.inner[number].results[0].type).result
            part = _part(body, number, made, [init], dims_map(len(every), every))
        made[number] = part.operation.results[0]
    last = len(body.inner) - 1
    with ir.InsertionPoint(op), ir.Location.fused([body.inner[i].location for i in body.needed(last, made)[:-1]]):
        count = len(body.source.inputs)
        result = ir.AffineMapAttr(ir.ArrayAttr(op.attributes["indexing_maps"])[count]).value
        part = _part(body, last, made, [list(op.operands)[count]], result)
    for name in op.attributes:
        if name not in ("indexing_maps", "iterator_types", "operandSegmentSizes"):
            part.operation.attributes[name] = op.attributes[name]
    op.results[0].replace_all_uses_with(part.operation.results[0])
    op.erase()


def _part(body: _Body, number: int, made: dict[int, Any], inits: list[Any], result: Any) -> Any:
    """The generic of one part: a tensor of value `number`, or what the whole yields."""
    source, needed = body.source, body.needed(number, made)
    wanted = {v for i in needed for v in body.inner[i].operands}
    arguments = list(source.block.arguments)
    kept = [i for i in range(len(source.inputs)) if arguments[i] in wanted]
    given = [i for i in made if body.inner[i].results[0] in wanted]
    part = Building(
        source.op, source.extents, source.parallel, [source.inputs[i] for i in kept], [source.maps[i] for i in kept]
    )
    for i in given:
        part.add(made[i], range(source.rank))

    def build(scalars: list[Any]) -> list[Any]:
        old = [*(arguments[i] for i in kept), *(body.inner[i].results[0] for i in given)]
        mapping = dict(zip(old, scalars, strict=False))
        mapping[arguments[len(source.inputs)]] = scalars[-1]
        for i in needed[:-1] if is_last else needed:
            copy_operation(body.inner[i], mapping)
        return [mapping[value] for value in (last.operands if is_last else last.results)]

    last = body.inner[number]
    is_last = not last.results
    return make_generic(part, inits, [result], build, dims=None if is_last else range(source.rank))
