"""The pass `hoist-scales`: one factor in front of linear operations instead of one behind each of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.passes.graph.algebra.common import build, operands_of, representable, result_of
from mnc.passes.graph.matching import constant, constant_of, is_float, producer, shape_of, size_of, splat_of

_ELEMENTS_STAY = ("transpose", "reshape")
_MOVES = (*_ELEMENTS_STAY, "neg", "broadcast_to")


@dataclass(frozen=True)
class HoistScales(Pass):
    """Multiply a tensor by a constant once, where all that is computed from it is linear and multiplied by that later.

    before: ``%w - c * (%x @ %d)``, ``%b - c * sum(%d)``; after: ``%e = -c * %d``, ``%w + %x @ %e``, ``%b + sum(%e)``

    Done where fewer elements are multiplied than before. A training step is the case that matters: the learning rate
    moves from every parameter's gradient into the gradient of the loss, which has constant factors anyway.
    """

    name: ClassVar[str] = "hoist-scales"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context, ir.Location.unknown():
            for op in module.body.operations:
                if op.operation.name == "func.func":
                    for factor in _factors(op.operation):
                        _Hoisting(op.operation, factor).run()


@dataclass(frozen=True)
class _Multiple:
    """``product = value * factor``, and the subtraction whose second operand it alone is, moved or not."""

    product: Any
    value: ir.Value
    factor: float
    subtraction: Any


def _factors(function: Any) -> list[float]:
    return sorted({found.factor for found in _multiples(function)})


def _multiples(function: Any) -> Iterable[_Multiple]:
    """Products of a float tensor with one constant; subtracted, they count as added with the factor's negative."""
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name != "graph.mul" or not is_float(result_of(op)):
            continue
        value, factor = operands_of(op)
        number = splat_of(factor)
        if number is None or shape_of(value) != shape_of(result_of(op)) or isinstance(value.owner, ir.Block):
            continue
        users = list(result_of(op).uses)
        while len(users) == 1 and users[0].owner.operation.name.removeprefix("graph.") in _ELEMENTS_STAY:
            users = list(users[0].owner.operation.results[0].uses)
        subtraction = None
        if len(users) == 1 and users[0].owner.operation.name == "graph.sub" and users[0].operand_number == 1:
            subtraction = users[0].owner.operation
        yield _Multiple(op.operation, value, -float(number) if subtraction is not None else float(number), subtraction)


@dataclass
class _Hoisting:
    """One factor in one function. `wanted`: values of which every use wants the multiple."""

    function: Any
    factor: float
    multiples: dict[Any, _Multiple] = field(default_factory=dict)
    wanted: set[Any] = field(default_factory=set)

    def run(self) -> None:
        """Find what may be computed multiplied, and where that begins; rewrite if it saves multiplications."""
        self.multiples = {m.product: m for m in _multiples(self.function) if m.factor == self.factor}
        for op in reversed([op.operation for op in self.function.regions[0].blocks[0].operations]):
            self.wanted.update(value for value in op.results if is_tensor(value) and self._is_wanted(value))
        made: set[Any] = set()
        first = self._beginnings(made)
        saved = sum(size_of(m.value) for m in self.multiples.values() if m.value in made)
        if first and self._is_consistent(made) and sum(size_of(value) for value in first) < saved:
            self._rewrite(made, first)

    def _is_wanted(self, value: ir.Value) -> bool:
        uses = [(use.owner.operation, use.operand_number) for use in value.uses]
        return is_float(value) and bool(uses) and all(self._wants(user, number) for user, number in uses)

    def _wants(self, user: Any, number: int) -> bool:
        if user in self.multiples:
            return number == 0
        return _is_linear(user, number) and user.results[0] in self.wanted

    def _beginnings(self, made: set[Any]) -> list[Any]:
        """Values whose multiples are computed from something that is none; `made` receives all that are multiples."""
        first = []
        pending = [m.value for m in self.multiples.values() if m.value in self.wanted]
        while pending:
            value = pending.pop()
            if value in made:
                continue
            made.add(value)
            source = self._source(value)
            if source is None:
                first.append(value)
            else:
                pending.append(source)
        return first

    def _source(self, value: ir.Value) -> ir.Value | None:
        """The operand that carries the factor to `value`: of two the smaller one."""
        if isinstance(value.owner, ir.Block) or value.owner.operation in self.multiples:
            return None
        op = value.owner.operation
        able = [v for i, v in enumerate(op.operands) if _is_linear(op, i) and v in self.wanted]
        return min(able, key=size_of, default=None)

    def _is_consistent(self, made: set[Any]) -> bool:
        """Whether every use of a multiple takes its factor from there."""
        for value in made:
            for use in value.uses:
                user = use.owner.operation
                if user in self.multiples:
                    continue
                if user.results[0] not in made or self._source(user.results[0]) != value:
                    return False
        return True

    def _rewrite(self, made: set[Any], first: list[Any]) -> None:
        for value in first:
            with ir.InsertionPoint(_following(value.owner.operation)):
                multiple = _scaled(value, self.factor)
            uses = [(use.owner.operation, use.operand_number) for use in value.uses]
            for user, number in uses:
                if multiple.owner.operation != user:
                    user.operands[number] = multiple
        for found in self.multiples.values():
            if found.value in made:
                self._drop(found)

    @staticmethod
    def _drop(found: _Multiple) -> None:
        """What was multiplied is the multiple already."""
        value = found.product.operands[0]
        found.product.results[0].replace_all_uses_with(value)
        found.product.erase()
        if found.subtraction is not None:
            with ir.InsertionPoint(found.subtraction), found.subtraction.location:
                total = build("add", *found.subtraction.operands)
            found.subtraction.results[0].replace_all_uses_with(total)
            found.subtraction.erase()


def is_tensor(value: ir.Value) -> bool:
    """Whether a value is a ranked tensor."""
    return isinstance(value.type, ir.RankedTensorType)


def _is_linear(op: Any, number: int) -> bool:
    """Whether a multiple of an operand makes the same multiple of the result."""
    kind = op.name.removeprefix("graph.")
    if kind in _MOVES:
        return True
    if kind == "reduce":
        return ir.StringAttr(op.attributes["kind"]).value in ("sum", "mean")
    if kind == "where":
        return number > 0 and splat_of(op.operands[3 - number]) == 0
    if kind in ("mul", "matmul"):
        return op.operands[0] != op.operands[1]  # a square takes the square of a factor
    return kind == "div" and number == 0 and op.operands[0] != op.operands[1]


def _following(op: Any) -> Any:
    block = [other.operation for other in op.parent.regions[0].blocks[0].operations]
    return block[block.index(op) + 1]


def _is_free(value: ir.Value) -> bool:
    """Whether the multiple takes no operation more than the value itself."""
    if producer(value, "constant") is not None:
        return constant_of(value) is not None
    chosen = producer(value, "where")
    if chosen is not None:
        return all(splat_of(v) is not None for v in operands_of(chosen)[1:])
    product = producer(value, "mul")
    return product is not None and any(_is_free(v) for v in operands_of(product))


def _scaled(value: ir.Value, factor: float) -> ir.Value:
    """`value * factor`, the factor moved into constants where that saves the multiplication."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    kind = "" if op is None else op.name.removeprefix("graph.")
    if op is not None and kind == "constant":
        number = splat_of(value)
        array = constant_of(value)
        assert array is not None
        product = np.asarray(array if number is None else number, np.float64) * factor + 0.0  # no zero below zero
        if representable(product, value):
            return constant(product if number is None else np.full(shape_of(value), product), like=value)
    elif op is not None and kind == "where" and _is_free(value):
        condition, *sides = op.operands
        return build("where", condition, *(_scaled(side, factor) for side in sides))
    elif op is not None and kind == "mul" and _is_free(value):
        a, b = op.operands
        return build("mul", a, _scaled(b, factor)) if _is_free(b) else build("mul", _scaled(a, factor), b)
    elif op is not None and kind in ("add", "sub") and all(_is_free(v) for v in op.operands):
        return build(kind, *(_scaled(v, factor) for v in op.operands))
    return build("mul", value, constant(factor, like=value))
